import { enableCompileCache } from 'node:module'
import { xdgFolder } from './xdg-folder.ts'

/** Halves the time until a prompt. The cache holds code that will run, so it lies where only the user writes. */
export function useCompileCache(env: NodeJS.ProcessEnv): void {
  const folder = xdgFolder(env, 'XDG_CACHE_HOME')
  if (folder !== undefined) enableCompileCache(folder)
}
