import { lstat, readdir, readlink, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import {
  type ControlCommand,
  commandsAfterRemoval,
  commandsBeforeRemoval,
  controlAll,
  findInitSystem,
  NO_INIT_SYSTEM,
} from './init-system.ts'
import { type FoundService, inspectService, lstatIfAny, refuseForeign } from './inspect-service.ts'
import { readMark } from './ownership.ts'
import { checkServiceName } from './parse-service.ts'
import { removeLeftovers } from './replace-files.ts'
import { requireRoot } from './require-root.ts'
import {
  environmentFile,
  launcherFile,
  lockFile,
  logFile,
  MAIN_FILE,
  pidFile,
  SCRIPTIFY_DIR,
  type ServiceTemplate,
  TEMPLATES,
} from './service.ts'

export interface UninstallOptions {
  readonly name: string
  /** `/`, or the place where another system's files are mounted. */
  readonly root: string
  readonly dryRun: boolean
}

interface Removal {
  readonly before: readonly ControlCommand[]
  readonly files: readonly string[]
  readonly after: readonly ControlCommand[]
}

/**
 * Stops, disables and removes a service with all that belongs to it; gives the lines that tell what was done. Who owns
 * each file is settled before the first is touched: exit code 4 for somebody else's, 3 for a service that is not there.
 */
export async function uninstallService({ name, root, dryRun }: UninstallOptions): Promise<string[]> {
  checkServiceName(name)
  if (!dryRun) requireRoot('uninstall')
  const removal = await planRemoval(name, root)
  if (dryRun) return describe(removal)
  await controlAll(removal.before)
  // The init system may have taken its links and the pid file away by now.
  for (const path of removal.files) await rm(path, { force: true })
  await removeLeftovers(everyPath(name).map((path) => join(root, path)))
  await rmdir(join(root, SCRIPTIFY_DIR)).catch(() => {
    // Other services, or somebody else's files, are there.
  })
  await controlAll(removal.after)
  return [`Uninstalled ${name}: removed ${removal.files.join(', ')}`]
}

async function planRemoval(name: string, root: string): Promise<Removal> {
  const found = await inspectService(name, root)
  const templates = ownTemplates(found)
  if (templates.length === 0) throw refuseUnowned(name, found)
  const parts = [found.environment, found.launcher].filter((file) => file !== undefined)
  const foreign = parts.find((file) => file.owner === 'foreign')
  if (foreign) throw refuseForeign(foreign)
  const mains = templates.map((template) => found.main[template]).filter((file) => file !== undefined)
  const links = await Promise.all(templates.map((template) => findLinks(name, template, root)))
  const system = root === '/' ? findInitSystem() : NO_INIT_SYSTEM
  const services = templates
    .filter((template) => found.main[template] !== undefined)
    .map((template) => ({ name, template, legacy: found.main[template]?.owner === 'legacy' }))
  return {
    before: root === '/' ? services.flatMap((service) => commandsBeforeRemoval(service, system)) : [],
    files: [
      ...links.flat(),
      ...[...mains, ...parts].map(({ path }) => path),
      ...(await findTraces(name, templates, root)),
    ],
    // Also where only parts were left: an uninstall that was killed may not have come this far.
    after: templates.flatMap((template) => commandsAfterRemoval({ name, template }, system)),
  }
}

/** The templates whose file is ours; or, where only parts of a service are left, the one that these name. */
function ownTemplates({ main, environment, launcher }: FoundService): ServiceTemplate[] {
  const whole = TEMPLATES.filter(
    (template) => main[template] !== undefined && main[template].owner !== 'foreign',
  )
  if (whole.length > 0) return whole
  const marks = [environment, launcher].map((file) => file && readMark(file.text))
  const [mark] = marks.filter((known) => known?.kind === 'own')
  return mark?.kind === 'own' ? [mark.template] : []
}

function refuseUnowned(name: string, { main, environment, launcher }: FoundService): CliError {
  const [file] = [...Object.values(main), environment, launcher].filter((found) => found !== undefined)
  return file ? refuseForeign(file) : new CliError(`There is no service ${name}`, EXIT.notFound)
}

/** The links by which an init system starts a service at boot, which its own tool may not be here to remove. */
async function findLinks(name: string, template: ServiceTemplate, root: string): Promise<string[]> {
  if (template === 'systemd') {
    const folder = join(root, '/etc/systemd/system')
    const groups = (await namesIn(folder)).filter((group) => /\.(wants|requires)$/.test(group))
    return keepLinksTo(
      groups.map((group) => join(folder, group, `${name}.service`)),
      `${name}.service`,
    )
  }
  if (template === 'initd') {
    const folders = [...'0123456S'].map((level) => join(root, `/etc/rc${level}.d`))
    const links = await Promise.all(
      folders.map(async (folder) =>
        (await namesIn(folder))
          .filter((link) => /^[SK]\d\d/.test(link) && link.slice(3) === name)
          .map((link) => join(folder, link)),
      ),
    )
    return keepLinksTo(links.flat(), name)
  }
  return []
}

async function keepLinksTo(paths: readonly string[], target: string): Promise<string[]> {
  const targets = await Promise.all(paths.map((path) => readlink(path).catch(() => '')))
  return paths.filter((_, index) => basename(targets[index] ?? '') === target)
}

/** What the service itself left: its pid file, its lock, its log, and the log's older parts. */
async function findTraces(
  name: string,
  templates: readonly ServiceTemplate[],
  root: string,
): Promise<string[]> {
  const logs = templates
    .filter((template) => template !== 'systemd')
    .map((template) => findLogs(join(root, logFile(name, template))))
  const paths = [
    ...(await Promise.all(logs)).flat(),
    ...[pidFile, lockFile].map((file) => join(root, file(name))),
  ]
  const stats = await Promise.all(paths.map(lstatIfAny))
  return paths.filter((_, index) => stats[index] !== undefined && !stats[index].isDirectory())
}

async function findLogs(log: string): Promise<string[]> {
  const names = await namesIn(dirname(log))
  return names
    .filter((file) => file === basename(log) || file.startsWith(`${basename(log)}.`))
    .map((file) => join(dirname(log), file))
}

async function namesIn(folder: string): Promise<string[]> {
  const stats = await lstat(folder).catch(() => undefined)
  return stats?.isDirectory() ? readdir(folder) : []
}

const everyPath = (name: string): string[] => [
  ...TEMPLATES.map((template) => MAIN_FILE[template](name)),
  environmentFile(name),
  launcherFile(name),
]

const describe = ({ before, files, after }: Removal): string[] => [
  ...before.map(({ words }) => `would run     ${words.join(' ')}`),
  ...files.map((path) => `would remove  ${path}`),
  ...after.map(({ words }) => `would run     ${words.join(' ')}`),
]
