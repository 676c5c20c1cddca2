import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Shell } from './reply.ts'

/** The script that a shell sources. */
export const readCompletionScript = (shell: Shell): Promise<string> =>
  readFile(join(import.meta.dirname, 'scripts', shell), 'utf8')
