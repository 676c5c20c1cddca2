import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface LockedPackage {
  dependencies?: Record<string, string>
  /** The folder of a workspace. */
  resolved?: string
  link?: boolean
}

/**
 * The folders of what a workspace needs to run, relative to the checkout: of the versions in package-lock.json, with what
 * they need themselves. Optional and peer dependencies are not among them.
 */
export function lockedPackages(root: string, workspace: string): string[] {
  const { packages }: { packages: Record<string, LockedPackage> } = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  )
  const found = new Set<string>()
  const visit = (folder: string) => {
    const entry = packages[folder]
    if (entry?.link) return visitDependencies(entry.resolved ?? '', folder)
    visitDependencies(folder, folder)
  }
  const visitDependencies = (folder: string, seenAs: string) => {
    if (found.has(seenAs)) return
    found.add(seenAs)
    for (const name of Object.keys(packages[folder]?.dependencies ?? {}))
      visit(locate(packages, name, folder))
  }
  visitDependencies(workspace, workspace)
  found.delete(workspace)
  return [...found].sort()
}

/** Finds a package as Node does from a folder: in its node_modules, or in that of a folder above. */
function locate(packages: Record<string, LockedPackage>, name: string, folder: string): string {
  const path = join(folder, 'node_modules', name)
  if (packages[path]) return path
  if (folder === '.') throw new Error(`${name} is not in package-lock.json`)
  return locate(packages, name, dirname(folder))
}
