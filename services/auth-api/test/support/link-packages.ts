import { existsSync } from 'node:fs'
import { mkdir, readdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const WORKSPACES = [
  'admin',
  'shared',
  'shared/text',
  'services/auth-api',
  'services/mailer-worker',
  'services/scriptify',
]

/** Gives another checkout the packages that are installed here, with its own workspaces. */
export async function linkPackages(root: string): Promise<void> {
  await mkdir(join(root, 'node_modules', '@latchkey'), { recursive: true })
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== '@latchkey')
      await symlink(join(ROOT, 'node_modules', name), join(root, 'node_modules', name))
  for (const workspace of WORKSPACES) {
    await symlink(
      join(root, workspace),
      join(root, 'node_modules', '@latchkey', workspace.split('/').at(-1) ?? ''),
    )
    const own = join(ROOT, workspace, 'node_modules')
    if (existsSync(own)) await symlink(own, join(root, workspace, 'node_modules'))
  }
}
