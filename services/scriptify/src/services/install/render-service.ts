import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import Handlebars from 'handlebars'
import { errorMessage } from '../../io/cli-error.ts'
import { updateEnvFile } from '../env-file.ts'
import type { ExtraFile, InitSystem } from '../init-system.ts'
import { isMark, ownershipMark } from '../ownership.ts'
import { environmentFile, extraPath, launcherFile, lockFile, resultFile, unitFile } from '../paths.ts'
import type { Service } from '../service.ts'
import { quoteShellWord } from '../text.ts'
import { formatRecord, isRecordLine, type RecordedOptions } from './install-options.ts'

const TEMPLATES_DIR = join(import.meta.dirname, '..', '..', '..', '..', '..', 'templates', 'services')

/** A file to be written: its path on the host that runs the service, and its permissions. */
export interface ServiceFile {
  readonly path: string
  readonly mode: number
  readonly content: string
}

interface RenderOptions {
  /** The text of an environment file, whose other variables are kept. */
  readonly keptEnvironment?: string
  readonly extras?: readonly ExtraFile[]
  /** The options that the environment file records for the next installation. */
  readonly recorded?: RecordedOptions
}

/**
 * Renders the files of a service in the order in which to write them: the unit comes last, so that the init system never
 * finds a service with a missing part. The service's variables replace those of `keptEnvironment`, the text of an
 * environment file. `extras` are those of its init system that are written, by default all that it needs.
 */
export async function renderService(
  service: Service,
  system: InitSystem,
  { keptEnvironment = '', extras = neededExtras(service, system), recorded = {} }: RenderOptions = {},
): Promise<ServiceFile[]> {
  const { name } = service
  const unit = await system.render(service)
  const common = { name, mark: ownershipMark(name, system) }
  const output = system.log(name)
  const logFile = 'file' in output ? output.file : undefined
  const record = formatRecord(recorded)
  const entries = updateEnvFile(withoutHeader(keptEnvironment), service.environment).trim()
  const render = async (path: string, mode: number, template: string, values: object) => ({
    path,
    mode,
    content: await renderTemplate(template, { ...values, ...common }),
  })
  return Promise.all([
    render(environmentFile(name), 0o600, 'environment', { record, entries }),
    ...(system.launcher === undefined
      ? []
      : [render(launcherFile(name), 0o700, 'launcher', launcherValues(service, system.launcher, logFile))]),
    ...extras.map((extra) => render(extraPath(extra, name), 0o644, extra.template, { ...unit, logFile })),
    render(unitFile(system, name), system.unitMode, system.template, unit),
  ])
}

/** The text without the lines of scriptify among its first three, which are written again. */
const withoutHeader = (text: string): string =>
  text
    .split('\n')
    .filter((line, index) => index > 2 || !(isMark(line) || isRecordLine(line)))
    .join('\n')

/** The extra files of a service, with or without a schedule. */
export const neededExtras = ({ schedule }: Pick<Service, 'schedule'>, system: InitSystem): ExtraFile[] =>
  system.extraFiles.filter((extra) => extra.isNeeded({ isScheduled: schedule !== undefined }))

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
const launcherValues = (
  { name, command, rootdir, user, group }: Service,
  { logs, locks }: NonNullable<InitSystem['launcher']>,
  logFile: string | undefined,
): object => ({
  logFile: logs ? logFile : undefined,
  lockFile: locks ? lockFile(name) : undefined,
  resultFile: resultFile(name),
  environment: environmentFile(name),
  command: command.map(quoteShellWord).join(' '),
  rootdir: quoteShellWord(rootdir),
  user: user === undefined ? undefined : quoteShellWord(user),
  group: group === undefined ? undefined : quoteShellWord(group),
})
