// The program behind `node>`.
import { useCompileCache } from '../../compile-cache.ts'

useCompileCache(process.env)
await import('./terminal/worker.ts')
