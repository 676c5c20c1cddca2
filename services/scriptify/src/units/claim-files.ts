import { join } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import {
  checkFolder,
  type FoundFile,
  foldersOf,
  inspectService,
  lstatIfAny,
  refuseForeign,
} from './inspect-service.ts'
import type { InstallRequest } from './install-request.ts'
import { MAIN_FILE, SCRIPTIFY_DIR, type ServiceTemplate, TEMPLATES } from './service.ts'

/**
 * The files of this service that stand there, each known to be ours. Throws exit code 4 for somebody else's, 3 for a folder
 * that is missing, 2 for a service of ours that --force would have to replace.
 */
export async function claimFiles({ name, template, root, force }: InstallRequest): Promise<FoundFile[]> {
  for (const folder of foldersOf(template)) await checkFolder(root, folder)
  if (await lstatIfAny(join(root, SCRIPTIFY_DIR))) await checkFolder(root, SCRIPTIFY_DIR)
  const { main, environment, launcher } = await inspectService(name, root)
  const parts = [main[template], environment, launcher].filter((file) => file !== undefined)
  const foreign = parts.find((file) => file.owner === 'foreign')
  if (foreign) throw refuseForeign(foreign)
  const other = TEMPLATES.find(
    (known) => known !== template && main[known] && main[known].owner !== 'foreign',
  )
  if (other !== undefined) {
    throw new CliError(`${name} is installed for ${other}: uninstall it first`, EXIT.usage)
  }
  if (force) return parts
  if (main[template] !== undefined) {
    throw new CliError(
      `${name} is installed already (${main[template].path}): --force replaces it`,
      EXIT.usage,
    )
  }
  const rival = await findRival(name, template, root)
  if (rival !== undefined) {
    throw new CliError(
      `${rival} is somebody else's service ${name}: choose another name, or --force`,
      EXIT.notPermitted,
    )
  }
  return parts
}

/** A service of the distribution that ours would hide, or that would hide ours. */
async function findRival(name: string, template: ServiceTemplate, root: string): Promise<string | undefined> {
  if (template === 'crond') return undefined
  const units = ['/usr/lib', '/lib', '/usr/local/lib', '/etc', '/run'].map(
    (folder) => `${folder}/systemd/system/${name}.service`,
  )
  const paths = [...units, MAIN_FILE.initd(name), MAIN_FILE.upstart(name)]
    .filter((path) => path !== MAIN_FILE[template](name))
    .map((path) => join(root, path))
  const stats = await Promise.all(paths.map(lstatIfAny))
  return paths.find((_, index) => stats[index] !== undefined)
}
