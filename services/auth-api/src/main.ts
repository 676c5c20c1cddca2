import { runService } from '@latchkey/shared/lifecycle/run-service.ts'
import { sizePool } from '@latchkey/shared/passwords/thread-pool.ts'

sizePool()
await runService(() => import('./parts.ts'))
