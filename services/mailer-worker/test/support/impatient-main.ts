import { runService } from '@latchkey/shared/lifecycle/run-service.ts'
import { openService } from '../../src/open-service.ts'

// mailer-worker that takes over the mail of dead workers after 3 to 4 s instead of 10 to 15.
await runService(process.env, async () => ({
  openService: (lifecycle, environment) =>
    openService(lifecycle, environment, { lockMs: 3_000, checkMs: 1_000 }),
}))
