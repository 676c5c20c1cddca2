import { runService } from '@latchkey/shared/lifecycle/run-service.ts'

await runService(process.env, () => import('./open-service.ts'))
