import { constants, type Stats } from 'node:fs'
import { lstat, open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { readMark } from './ownership.ts'
import {
  environmentFile,
  launcherFile,
  MAIN_FILE,
  SCRIPTIFY_DIR,
  type ServiceTemplate,
  TEMPLATES,
} from './service.ts'

/** What stands at a path that a service of this name uses. */
export interface FoundFile {
  /** With the root in front. */
  readonly path: string
  readonly owner: 'own' | 'legacy' | 'foreign'
  readonly stats: Stats
  readonly text: string
}

export interface FoundService {
  readonly main: Readonly<Partial<Record<ServiceTemplate, FoundFile>>>
  readonly environment: FoundFile | undefined
  readonly launcher: FoundFile | undefined
}

/** Looks at every path that a service of this name could use, below `root`; changes nothing and follows no link. */
export async function inspectService(name: string, root: string): Promise<FoundService> {
  const look = (path: string) => inspectFile(join(root, path), name)
  const mains = await Promise.all(
    TEMPLATES.map(async (template) => [template, await look(MAIN_FILE[template](name))] as const),
  )
  const main = Object.fromEntries(mains.filter(([, file]) => file !== undefined))
  const environment = await look(environmentFile(name))
  const isLegacy = Object.values(main).some((file) => file?.owner === 'legacy')
  return {
    main,
    environment: environment && isLegacy ? adoptLegacyEnvironment(environment) : environment,
    launcher: await look(launcherFile(name)),
  }
}

/** Throws exit code 4 for a folder that is reached through a link, 3 for one that is missing. */
export async function checkFolder(root: string, path: string): Promise<void> {
  const folders = path.split('/').filter(Boolean)
  for (let depth = 1; depth <= folders.length; depth++) {
    const folder = join(root, ...folders.slice(0, depth))
    const stats = await lstatIfAny(folder)
    if (!stats) throw new CliError(`${folder} does not exist: is that init system installed?`, EXIT.notFound)
    if (!stats.isDirectory()) {
      throw new CliError(`${folder} is a link or no folder; nothing is written through it`, EXIT.notPermitted)
    }
  }
}

/** The folders of a service's files that must be there already; /etc/scriptify is made when it is missing. */
export const foldersOf = (template: ServiceTemplate): string[] => [
  dirname(MAIN_FILE[template]('x')),
  dirname(SCRIPTIFY_DIR),
]

export async function lstatIfAny(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return undefined
    }
    throw error
  }
}

/** Looks at one path that a service of this name uses; undefined where nothing is. */
export async function inspectFile(path: string, name: string): Promise<FoundFile | undefined> {
  const stats = await lstatIfAny(path)
  if (!stats) return undefined
  if (!stats.isFile()) return { path, owner: 'foreign', stats, text: '' }
  const text = await readWithoutFollowing(path)
  const mark = readMark(text)
  // A copy that somebody made under another name is theirs.
  const owner = mark?.kind === 'own' && mark.name !== name ? 'foreign' : (mark?.kind ?? 'foreign')
  return { path, owner, stats, text }
}

/** The refusal to touch a file. */
export const refuseForeign = ({ path }: FoundFile): CliError =>
  new CliError(`${path} was not written by scriptify; it stays as it is`, EXIT.notPermitted)

async function readWithoutFollowing(path: string): Promise<string> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    return await file.readFile('utf8')
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error
    throw new CliError(`${path} may be read by root only`, EXIT.notPermitted)
  }
}

/** The original marked no environment; beside one of its services, a file of nothing but `export` lines is its. */
function adoptLegacyEnvironment(file: FoundFile): FoundFile {
  const isTheirs =
    file.owner === 'foreign' && file.stats.isFile() && /^(export \w+=.*\n?|\s*\n)*$/.test(file.text)
  return isTheirs ? { ...file, owner: 'legacy' } : file
}
