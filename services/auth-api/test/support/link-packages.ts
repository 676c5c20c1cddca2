import { existsSync } from 'node:fs'
import { mkdir, readdir, readlink, symlink } from 'node:fs/promises'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..', '..')
const WORKSPACES = join('node_modules', '@latchkey')

/** Gives another checkout the packages that are installed here, with its own workspaces. */
export async function linkPackages(root: string): Promise<void> {
  await mkdir(join(root, WORKSPACES), { recursive: true })
  for (const name of await readdir(join(ROOT, 'node_modules')))
    if (name !== '@latchkey')
      await symlink(join(ROOT, 'node_modules', name), join(root, 'node_modules', name))
  for (const name of await readdir(join(ROOT, WORKSPACES))) {
    // npm links a workspace by a relative path, which leads to the same folder of the other checkout.
    const link = await readlink(join(ROOT, WORKSPACES, name))
    await symlink(link, join(root, WORKSPACES, name))
    const own = join(ROOT, WORKSPACES, link, 'node_modules')
    if (existsSync(own)) await symlink(own, join(root, WORKSPACES, link, 'node_modules'))
  }
}
