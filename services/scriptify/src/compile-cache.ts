import { enableCompileCache } from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** Halves the time until a prompt. The cache holds code that will run, so it lies where only the user writes. */
export function useCompileCache(env: NodeJS.ProcessEnv): void {
  enableCompileCache(join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), '.cache'), 'scriptify'))
}
