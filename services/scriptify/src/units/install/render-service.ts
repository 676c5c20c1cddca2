import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import Handlebars from 'handlebars'
import { errorMessage } from '../../io/cli-error.ts'
import { updateEnvFile } from '../env-file.ts'
import type { ExtraFile, InitSystem } from '../init-system.ts'
import { ownershipMark } from '../ownership.ts'
import {
  environmentFile,
  extraFilesOf,
  extraPath,
  launcherFile,
  lockFile,
  resultFile,
  unitFile,
} from '../paths.ts'
import type { ServiceDefinition } from '../service-definition.ts'
import { quoteShellWord } from '../text.ts'
import { formatRecord, type ServiceOptions } from './kept-options.ts'

const TEMPLATES_DIR = join(import.meta.dirname, '..', '..', '..', '..', '..', 'templates', 'services')

/** A file to be written: its path on the host that runs the service, and its permissions. */
export interface ServiceFile {
  readonly path: string
  readonly mode: number
  readonly content: string
}

interface RenderOptions {
  readonly system: InitSystem
  readonly root: string
  /** The text of an environment file, whose other variables are kept. */
  readonly keptEnvironment?: string
  readonly extras?: readonly ExtraFile[]
  /** What the environment file records for the next installation. */
  readonly options?: ServiceOptions
}

/**
 * Renders the files of a service in the order in which to write them: the unit comes last, so that the init system never
 * finds a service with a missing part. The service's variables replace those of `keptEnvironment`, the text of an
 * environment file. `extras` are those of its init system that are written, by default all that it needs.
 */
export async function renderService(
  service: ServiceDefinition,
  {
    system,
    root,
    keptEnvironment = '',
    extras = neededExtras(system, service.schedule !== undefined),
    options = {},
  }: RenderOptions,
): Promise<ServiceFile[]> {
  const { name } = service
  const unit = await system.render(service, root)
  const common = { name, mark: ownershipMark(name, system) }
  const entries = updateEnvFile(keptEnvironment, service.environment).trim()
  const launcher = launcherValues(service, system)
  const output = system.log(name)
  const logFile = 'file' in output ? output.file : undefined
  const files = [
    ...(launcher === undefined
      ? []
      : [
          {
            path: launcherFile(name),
            mode: 0o700,
            content: await renderTemplate('launcher', { ...launcher, ...common }),
          },
        ]),
    ...(await Promise.all(
      extras.map(async (extra) => ({
        path: extraPath(extra, name),
        mode: 0o644,
        content: await renderTemplate(extra.template, { ...unit, ...common, logFile }),
      })),
    )),
    {
      path: unitFile(system, name),
      mode: system.unitMode,
      content: await renderTemplate(system.template, { ...unit, ...common }),
    },
  ]
  const record = formatRecord(options, files)
  const content = await renderTemplate('environment', { ...common, record, entries })
  return [{ path: environmentFile(name), mode: 0o600, content }, ...files]
}

/** The extra files of a service, with or without a schedule. */
export const neededExtras = (system: InitSystem, isScheduled: boolean): ExtraFile[] =>
  extraFilesOf(system).filter((extra) => extra.isNeeded({ isScheduled }))

interface Values {
  readonly mark: string
  readonly [name: string]: unknown
}

async function renderTemplate(file: string, values: Values): Promise<string> {
  const path = resolve(TEMPLATES_DIR, file)
  const content = fillTemplate(path, await readFile(path, 'utf8'), values)
  // By this mark scriptify knows the file as its own. It never replaces or removes a file without it.
  if (!content.split('\n', 3).includes(values.mark))
    throw new Error(`${path} does not have {{mark}} in its first three lines; add it there`)
  return content
}

function fillTemplate(path: string, source: string, values: Values): string {
  try {
    // Every value is already escaped for the language of its place.
    return Handlebars.compile(source, { strict: true, noEscape: true })(values)
  } catch (error) {
    throw new Error(`${path}: ${errorMessage(error)}`, { cause: error })
  }
}

/** The values of the script that starts the command where the language of the init system loses or folds some characters. */
function launcherValues(
  { name, command, rootdir, user, group }: ServiceDefinition,
  { launcher, log }: InitSystem,
): object | undefined {
  if (launcher === undefined) return undefined
  const output = log(name)
  return {
    logFile: launcher.logs && 'file' in output ? output.file : undefined,
    lockFile: launcher.locks ? lockFile(name) : undefined,
    resultFile: resultFile(name),
    environment: environmentFile(name),
    command: command.map(quoteShellWord).join(' '),
    rootdir: quoteShellWord(rootdir),
    user: user === undefined ? undefined : quoteShellWord(user),
    group: group === undefined ? undefined : quoteShellWord(group),
  }
}
