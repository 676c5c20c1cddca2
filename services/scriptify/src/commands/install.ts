import { Command, Option } from 'commander'
import { type ServiceTemplate, TEMPLATES } from '../units/service.ts'
import { collect } from './collect.ts'
import { parseSeconds } from './parse-seconds.ts'

const EXAMPLES = `
Examples:
  scriptify install --template=systemd importer --class '\\Jobs\\Importer::work' --rootdir /srv/shop --user app
  scriptify install --template=systemd importer --class src/importer.ts#Importer::work --rootdir /srv/shop --enable --start
  scriptify install --template=crond cleaner --class Cleaner::run --rootdir /srv/shop --schedule '0 4 * * *' --arg 30
  scriptify install --template=initd mailer --class Mailer::send --rootdir /srv/shop --env APP_ENV=prod --dry-run`

interface Flags {
  template: ServiceTemplate
  class: string
  rootdir: string
  bootstrap?: string
  arg?: string[]
  env?: string[]
  description?: string
  user?: string
  group?: string
  schedule?: string
  daemon?: boolean
  interval?: number
  hardening: boolean
  privateTmp: boolean
  memoryMax?: string
  runtime?: 'php' | 'node'
  allowOutside?: boolean
  enable?: boolean
  start?: boolean
  dryRun?: boolean
  force?: boolean
  check: boolean
  root: string
  home?: string
  program?: string
}

/** `scriptify install`: a method as a service of systemd, upstart, SysV init or cron. */
export function createInstallCommand(): Command {
  return new Command('install')
    .description('install a method as a system service (as root)')
    .argument('<name>', 'letters, digits, - and _')
    .addOption(
      new Option('-t, --template <template>', 'the init system').choices(TEMPLATES).default('systemd'),
    )
    .requiredOption('-c, --class <reference>', 'the method, as for run')
    .addOption(
      new Option('-r, --rootdir <dir>', 'the working directory').default(process.cwd(), 'this folder'),
    )
    .option('-b, --bootstrap <file>', 'loads the project’s classes; relative to --rootdir')
    .addOption(new Option('--runtime <name>', 'language; by default the project’s').choices(['php', 'node']))
    .option('--allow-outside', 'the module may lie outside --rootdir')
    .option('-a, --arg <value>', 'an argument of the method; may be given again', collect)
    .option(
      '-e, --env <NAME=VALUE>',
      'an environment variable, kept in /etc/scriptify/<name>.env; may be given again',
      collect,
    )
    .option('-d, --description <text>', 'one line')
    .option('-u, --user <account>', 'whom it runs as (default: root)')
    .option('-g, --group <group>', 'with --user: another group than the account’s own')
    .option('-s, --schedule <fields>', 'crond: five fields, or a name like @daily (default: every minute)')
    .option(
      '--daemon',
      'call the method again and again until the service is stopped (all but crond: by default)',
    )
    .option('--no-daemon', 'call the method once')
    .option('--interval <seconds>', 'between two calls (default: 1)', parseSeconds)
    .option('--memory-max <bytes>', 'systemd: end the service above this, such as 512M')
    .option('--no-private-tmp', 'systemd: share /tmp with others')
    .option('--no-hardening', 'systemd: confine it in nothing')
    .option('--enable', 'start it at boot')
    .option('--start', 'start it now')
    .option('--dry-run', 'show what would be written and run')
    .option(
      '--force',
      'replace a service of ours, keeping its variables and its files’ mode and owner; hide one of the distribution',
    )
    .option('--no-check', 'do not look whether the class and the method exist')
    .option('--root <dir>', 'write below this folder, where another system’s files are mounted', '/')
    .option('--home <dir>', 'with --root: where scriptify lies on that system')
    .option('--program <path>', 'with --root: the php or node of that system')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, flags: Flags) => {
      const { installService } = await import('../units/install-service.ts')
      const { resolveRoot } = await import('../units/resolve-root.ts')
      const {
        arg = [],
        env = [],
        enable = false,
        start = false,
        dryRun = false,
        force = false,
        ...rest
      } = flags
      const request = { ...rest, name, args: arg, env, enable, start, dryRun, force }
      const root = await resolveRoot(flags.root)
      for await (const line of installService({ ...request, root }, process.env)) console.log(line)
    })
}
