import { Command, Option } from 'commander'
import { useCompileCache } from '../compile-cache.ts'
import { collect } from './collect.ts'
import { parseSeconds } from './parse-seconds.ts'

const DESCRIPTION = `Calls a public method, with the arguments in order, byte for byte.

A method is \\Name\\Space\\Class::method, path/module.ts#Class::method or path/module.ts#function. The language is that
of --runtime; else node for a path or a class that scriptify.namespaces leads to, php for a project of Composer.`

const EXAMPLES = `
Environment: SCRIPTIFY_BOOTLOADER (php: the bootstrap), SCRIPTIFY_MEMORY_LIMIT (such as 256M), SCRIPTIFY_PHP_BINARY,
SCRIPTIFY_DEBUG (stack traces)

Exit codes: 0 ok, 1 the method failed, 2 wrong usage, 3 not found, 4 not permitted, 5 php missing or too old, 128+n ended
by signal n; what the method itself gives to exit()

Examples:
  scriptify run Users::list                                           a class of this project
  scriptify run '\\App\\Report::send' --arg 'Ada Lovelace' --arg -1
  scriptify run src/report.ts#Report::send --json-arg '{"to": "ada"}'  a value instead of a text
  scriptify run src/report.ts#send --env APP_ENV=test --print         what it returns, as JSON
  scriptify run '\\App\\Import::next' --daemon --interval 5             until SIGTERM
  scriptify run '\\App\\Import::next' --rootdir /srv/app --showdocs`

interface Flags {
  runtime?: 'php' | 'node'
  rootdir?: string
  bootstrap?: string
  env?: string[]
  daemon?: boolean
  interval?: number
  keepGoing?: boolean
  showdocs?: boolean
  loose?: boolean
  print?: boolean
  allowOutside?: boolean
}

/** `scriptify run`: calls a method, once or again and again. */
export function createRunCommand(): Command {
  const args: string[] = []
  const jsonArgs: number[] = []
  const add = (value: string) => void args.push(value)
  const addJson = (value: string) => void jsonArgs.push(args.push(value) - 1)
  return new Command('run')
    .summary('call a public method')
    .description(DESCRIPTION)
    .argument('<method>', 'the class and its method')
    .addOption(new Option('-a, --arg <value>', 'an argument; may be given again').argParser(add))
    .addOption(new Option('--json-arg <value>', 'an argument that is JSON').argParser(addJson))
    .option('-b, --bootstrap <file>', 'load this first (default in php: vendor/autoload.php)')
    .option('-r, --rootdir <dir>', 'the project’s folder, where the method runs (default: this folder)')
    .option('-e, --env <NAME=VALUE>', 'set an environment variable; may be given again', collect)
    .option('-s, --showdocs', 'print the method’s documentation and call nothing')
    .option('-d, --daemon', 'call again and again; on SIGTERM finish the call in hand and end with 0')
    .addOption(new Option('--interval <seconds>', 'between calls (default: 1)').argParser(parseSeconds))
    .option('--keep-going', 'as a daemon, go on after a failed call')
    .option('--print', 'print what the method returns, as JSON')
    .option('--loose', 'let the method have more arguments than it names')
    .addOption(new Option('--runtime <name>', 'language; by default the project’s').choices(['php', 'node']))
    .option('--allow-outside', 'let a module lie outside the project’s folder')
    .addHelpText('after', EXAMPLES)
    .action(async (reference: string, flags: Flags, command: Command) => {
      if (!flags.daemon && (flags.interval !== undefined || flags.keepGoing)) {
        command.error('--interval and --keep-going go with --daemon')
      }
      useCompileCache(process.env)
      const { runMethod } = await import('../methods/run-method.ts')
      const { daemon, interval = 1, keepGoing = false, env = [], showdocs = false, ...rest } = flags
      await runMethod({
        ...rest,
        reference,
        args,
        jsonArgs,
        env,
        showdocs,
        compileCache: true,
        ...(daemon ? { daemon: { interval, keepGoing } } : {}),
      })
    })
}
