import { mkdtempDisposableSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runOnTerminal } from './run-on-terminal.ts'

/**
 * Opens a text in the user's editor ($VISUAL, $EDITOR, else vi) on this terminal; gives the edited text. Throws when the
 * editor cannot be started or fails, as by vi's `:cq`.
 */
export async function editText(text: string, { extension }: { extension: string }): Promise<string> {
  // Only this user may enter the folder: code may contain secrets.
  const folder = mkdtempDisposableSync(join(tmpdir(), 'scriptify-edit-'))
  // This process may end before the editor: the window was closed.
  process.once('exit', folder.remove)
  try {
    const file = join(folder.path, `statement.${extension}`)
    await writeFile(file, text, { mode: 0o600 })
    await runEditor(process.env.VISUAL || process.env.EDITOR || 'vi', file)
    return (await readFile(file, 'utf8')).replace(/\n+$/, '')
  } finally {
    process.off('exit', folder.remove)
    folder.remove()
  }
}

async function runEditor(editor: string, file: string): Promise<void> {
  const { code, signal } = await runOnTerminal(`${editor} "$1"`, { args: [file] })
  if (code === 0) return
  const how = code === null ? `was ended by ${signal}` : `ended with ${code}`
  throw new Error(`The editor (${editor}) ${how}: nothing was run; EDITOR names another`)
}
