import { enableCompileCache } from 'node:module'
import { xdgFolder } from './xdg-folder.ts'

/** Halves the time to a prompt. The cache contains code that will run, so only the user may write to its folder. */
export function useCompileCache(env: NodeJS.ProcessEnv): void {
  const folder = xdgFolder(env, 'XDG_CACHE_HOME')
  if (folder !== undefined) enableCompileCache(folder)
}
