import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Opens a text in the user's editor ($VISUAL, $EDITOR, else vi) on this terminal; gives the edited text. Throws when the
 * editor cannot be started or fails, as by vi's `:cq`.
 */
export async function editText(text: string, { extension }: { extension: string }): Promise<string> {
  const editor = process.env.VISUAL || process.env.EDITOR || 'vi'
  // Only this user may enter the folder: code may contain secrets.
  await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-edit-'))
  const file = join(folder.path, `statement.${extension}`)
  await writeFile(file, text, { mode: 0o600 })
  // A shell, because the variable may have arguments: `code --wait`.
  const child = spawn('/bin/sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit' })
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) {
    const how = code === null ? `was ended by ${signal}` : `ended with ${code}`
    throw new Error(`The editor (${editor}) ${how}: nothing was run; EDITOR names another`)
  }
  return (await readFile(file, 'utf8')).replace(/\n+$/, '')
}
