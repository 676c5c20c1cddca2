import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Handlebars from 'handlebars'
import { CliError } from '../cli-error.ts'
import { layOverEnvFile } from '../env-file.ts'
import { EXIT } from '../exit-codes.ts'
import { quoteShellWord } from './grammar/shell.ts'
import { escapeSystemdValue, quoteSystemdWord } from './grammar/systemd.ts'
import { quoteUpstartString } from './grammar/upstart.ts'
import { ownershipMark } from './ownership.ts'
import {
  environmentFile,
  launcherFile,
  lockFile,
  logFile,
  MAIN_FILE,
  type ServiceDefinition,
} from './service.ts'

const TEMPLATES_DIR = join(import.meta.dirname, '..', '..', '..', '..', 'templates', 'services')

/** A file to be written: its path on the system that runs the service, and its permissions. */
export interface ServiceFile {
  readonly path: string
  readonly mode: number
  readonly content: string
}

/**
 * Renders the files of a service from `templates/services/`, in the order in which to write them: the one that the
 * init system reads comes last, so that it never finds a service that lacks a part. `kept` is the text of an environment
 * file over which the service's variables are laid.
 */
export async function renderService(service: ServiceDefinition, kept = ''): Promise<ServiceFile[]> {
  const { name, template } = service
  const variables = VARIABLES[template](service)
  const mark = ownershipMark(name, template)
  const render = async (file: string, values: object): Promise<string> => {
    const source = await readFile(join(TEMPLATES_DIR, file), 'utf8')
    // Every value is already escaped for the language of its place.
    return Handlebars.compile(source, { strict: true, noEscape: true })({ ...values, name, mark })
  }
  const launches = template !== 'systemd'
  return [
    {
      path: environmentFile(name),
      mode: 0o600,
      content: await render('environment', { entries: layOverEnvFile(kept, service.environment).trim() }),
    },
    ...(launches
      ? [{ path: launcherFile(name), mode: 0o700, content: await render('launcher', launcher(service)) }]
      : []),
    {
      path: MAIN_FILE[template](name),
      mode: template === 'initd' ? 0o755 : 0o644,
      content: await render(template, variables),
    },
  ]
}

const VARIABLES = {
  systemd: ({ description, rootdir, command, user, group, hardened, privateTmp, memoryMax }) => ({
    description: escapeSystemdValue(description),
    rootdir: escapeSystemdValue(rootdir),
    command: joinForSystemd(command),
    user,
    group,
    hardened,
    privateTmp,
    memoryMax,
  }),
  upstart: ({ name, description }) => ({
    description: quoteUpstartString(description),
    launcher: launcherFile(name),
  }),
  initd: ({ name, description, command, daemon, user }) => ({
    description,
    daemon,
    launcher: launcherFile(name),
    // What tells the process from another that got its number. Root may not see the program of somebody else's process
    // where it lacks CAP_SYS_PTRACE, as in a container.
    match: user === undefined ? `--exec ${quoteShellWord(command[0])}` : `--user ${quoteShellWord(user)}`,
  }),
  crond: ({ name, description, schedule }) => ({ description, schedule, launcher: launcherFile(name) }),
} satisfies Record<ServiceDefinition['template'], (service: ServiceDefinition) => object>

function joinForSystemd(command: readonly string[]): string {
  const words = command.map(quoteSystemdWord).join(' ')
  // LONG_LINE_MAX: systemd does not load a unit with a longer line.
  if (Buffer.byteLength(words) < 1_048_000) return words
  throw new CliError('The arguments make a line of over 1 MiB, which systemd does not read', EXIT.usage)
}

/** The script that every init system but systemd starts, for their own languages lose or fold some characters. */
function launcher({ name, template, command, rootdir, user, group }: ServiceDefinition): object {
  return {
    // upstart keeps a log by itself.
    logFile: template === 'initd' || template === 'crond' ? logFile(name, template) : undefined,
    lockFile: template === 'crond' ? lockFile(name) : undefined,
    environment: environmentFile(name),
    command: command.map(quoteShellWord).join(' '),
    rootdir: quoteShellWord(rootdir),
    user: user === undefined ? undefined : quoteShellWord(user),
    group: group === undefined ? undefined : quoteShellWord(group),
  }
}
