import { availableParallelism } from 'node:os'
import { runService } from '@latchkey/shared/lifecycle/run-service.ts'

// A thread for each core, which may all hash, and four for DNS, files and WebCrypto. libuv reads it at its first job.
process.env.UV_THREADPOOL_SIZE ||= String(availableParallelism() + 4)
await runService(process.env, () => import('./open-service.ts'))
