import { Command, Help, Option } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import { printLines } from '../../io/print-lines.ts'
import { findKeptSettings } from '../../scriptify-settings.ts'
import { type InitSystem, namesOf } from '../../services/init-system.ts'
import type { InstallOptions } from '../../services/install/install-options.ts'
import { RESTART_POLICIES } from '../../services/service.ts'
import { collect, parseSeconds } from '../option-values.ts'

interface Flags extends Omit<InstallOptions, 'name' | 'args' | 'settings'> {
  arg?: string[]
}

/** The options that a first service needs: the help shows these, unless it is asked for all. */
const FREQUENT = [
  ...['--template', '--class', '--rootdir', '--arg', '--env', '--user', '--schedule'],
  ...['--enable', '--start', '--force'],
]

/** `scriptify install`: a method as a service of one of `systems`, by default the first. */
export function createInstallCommand(systems: readonly InitSystem[], { env, stdout }: CliContext): Command {
  let showsAll = false
  const command = new Command('install')
    .description('install a method as a system service, or change one (as root)')
    .argument('<name>', 'letters, digits, - and _')
    .addOption(new Option('--help-all').hideHelp())
    .on('option:help-all', () => {
      showsAll = true
      command.help()
    })
    .addHelpText('after', () => (showsAll ? '' : '\nAll options: scriptify install --help-all'))
    .addHelpText('after', examplesOf(systems))
    .action(async (name: string, { arg, ...flags }: Flags) => {
      const { installService } = await import('../../services/install/install-service.ts')
      const { resolveRoot } = await import('../../services/folders.ts')
      const options = {
        ...flags,
        ...(arg === undefined ? {} : { args: arg }),
        ...{ name, root: await resolveRoot(flags.root), settings: findKeptSettings(env) },
      }
      await printLines(stdout, installService(options, { systems, env }))
    })
  const visibleOptions = ({ options }: Command): Option[] =>
    options.filter(({ long, hidden }) => !hidden && (showsAll || FREQUENT.includes(long ?? '')))
  command.createHelp = () => Object.assign(new Help(), { visibleOptions }, command.configureHelp())
  for (const option of [...methodOptions(systems), ...serviceOptions(systems), ...placeOptions()])
    command.addOption(option)
  return command
}

function examplesOf(systems: readonly InitSystem[]): string {
  const examples = [...systems.flatMap((system) => system.examples), 'importer --force --user app --start']
  return `\nExamples:\n${examples.map((example) => `  scriptify install ${example}`).join('\n')}`
}

const methodOptions = (systems: readonly InitSystem[]): Option[] => [
  new Option('-t, --template <template>', `the init system (default: ${systems[0]?.name})`).choices(
    systems.map(({ name }) => name),
  ),
  new Option('-c, --class <reference>', 'the method, as for run'),
  new Option('-r, --rootdir <dir>', 'the working directory (default: this folder)'),
  new Option('-b, --bootstrap <file>', 'loads the project’s classes; relative to --rootdir'),
  new Option('--runtime <name>', 'language; by default the project’s').choices(['php', 'node']),
  new Option('-a, --arg <value>', 'an argument of the method; repeatable').argParser(collect),
  new Option(
    '-e, --env <NAME=VALUE>',
    'an environment variable, kept in /etc/scriptify/<name>.env; repeatable',
  ).argParser(collect),
  new Option('--env-file <file>', 'the variables of this file, unless --env sets them; repeatable').argParser(
    collect,
  ),
]

function serviceOptions(systems: readonly InitSystem[]): Option[] {
  const confining = namesOf(systems, ({ refuses }) => refuses['--memory-max'] === undefined)
  return [
    new Option('-d, --description <text>', 'one line'),
    new Option('-u, --user <account>', 'the account that it runs as (default: root)'),
    new Option('-g, --group <group>', 'with --user: a group other than the account’s own'),
    new Option(
      '-s, --schedule <times>',
      systems
        .flatMap(({ name, schedule }) => (schedule === undefined ? [] : [`${name}: ${schedule.help}`]))
        .join('; '),
    ),
    new Option(
      '--daemon',
      'call the method repeatedly until the service is stopped (default without a schedule)',
    ),
    new Option('--no-daemon', 'call the method once'),
    new Option('--interval <seconds>', 'between two calls, also as 500ms or 2m (default: 1)').argParser(
      parseSeconds,
    ),
    new Option(
      '--restart <policy>',
      `${namesOf(systems, ({ refuses }) => refuses['--restart'] === undefined)}: start it again after it has ended (default: on-failure)`,
    ).choices(RESTART_POLICIES),
    new Option(
      '--after <service>',
      `${namesOf(systems, ({ refuses }) => refuses['--after'] === undefined)}: start at boot after this service, if it is there; repeatable`,
    ).argParser(collect),
    new Option('--memory-max <bytes>', `${confining}: kill the service above this, such as 512M`),
    new Option('--hardening', `${confining}: sandboxing (default)`),
    new Option('--no-hardening', `${confining}: disable sandboxing`),
  ]
}

const placeOptions = (): Option[] => [
  new Option('--enable', 'start it at boot'),
  new Option('--start', 'start it now'),
  new Option('--dry-run', 'show what would be written and run'),
  new Option(
    '--force',
    'replace a service of scriptify, keeping the options and variables that are not given',
  ),
  new Option('--root <dir>', 'install into the file system mounted at this folder').default('/'),
]
