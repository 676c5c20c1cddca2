import { runService } from '@latchkey/shared/lifecycle/run-service.ts'

await runService(() => import('./parts.ts'))
