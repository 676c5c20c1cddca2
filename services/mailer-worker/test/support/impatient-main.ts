import { runService } from '@latchkey/shared/lifecycle/run-service.ts'
import { openParts } from '../../src/parts.ts'

// mailer-worker that takes over the mail of dead workers after 3 to 4 s instead of 10 to 15.
await runService(async () => ({
  openParts: (lifecycle) => openParts(lifecycle, { lockMs: 3_000, checkMs: 1_000 }),
}))
