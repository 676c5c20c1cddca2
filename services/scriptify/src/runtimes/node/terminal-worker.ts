// The program behind `node>`.
import { useCompileCache } from '../../terminal/compile-cache.ts'

useCompileCache(process.env)
await import('./terminal/worker.ts')
