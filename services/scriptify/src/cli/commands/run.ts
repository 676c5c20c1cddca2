import { Command, Option } from 'commander'
import { RUNTIME_NAMES, type RuntimeName } from '../../classes/choose-runtime.ts'
import type { CliContext } from '../../io/cli-context.ts'
import type { RunOptions } from '../../run/run-method.ts'
import { collect, parseSeconds } from '../option-values.ts'

const DESCRIPTION = `Calls a public method. Arguments are passed in order.

A method is \\Name\\Space\\Class::method, path/module.ts#Class::method or path/module.ts#function. The language is that
of --runtime, else node for a path or a class that scriptify.namespaces maps, else php for a Composer project.`

const EXAMPLES = `
Environment: SCRIPTIFY_BOOTLOADER (the bootstrap, unless --bootstrap names one), SCRIPTIFY_MEMORY_LIMIT (such as 256M),
SCRIPTIFY_PHP_BINARY, SCRIPTIFY_DEBUG (any value: --trace)

Exit codes: 0 ok, 1 the method failed, 2 wrong usage, 3 not found, 4 not permitted, 5 php missing or too old, 124 --timeout,
128+n ended by signal n; else the method's own exit code

Examples:
  scriptify run Users::list                                           a class of this project
  scriptify run '\\App\\Report::send' --arg 'Ada Lovelace' --arg -1
  scriptify run src/report.ts#Report::send --json-arg '{"to": "ada"}'  a value instead of a string
  scriptify run src/report.ts#send --env APP_ENV=test --print         its result, as JSON
  scriptify run '\\App\\Import::next' --daemon --interval 5             until SIGTERM
  scriptify run '\\App\\Import::next' --rootdir /srv/app --showdocs`

interface Flags {
  runtime?: RuntimeName
  rootdir?: string
  bootstrap?: string
  env?: string[]
  envFile?: string[]
  timeout?: number
  daemon?: boolean
  interval?: number
  showdocs?: boolean
  print?: boolean
  trace?: boolean
}

/** `scriptify run`: calls a method, once or repeatedly. */
export function createRunCommand(context: CliContext): Command {
  const args: string[] = []
  const jsonArgs: number[] = []
  const add = (value: string) => void args.push(value)
  const addJson = (value: string) => void jsonArgs.push(args.push(value) - 1)
  return new Command('run')
    .summary('call a public method')
    .description(DESCRIPTION)
    .argument('<method>', 'the class and its method; without a method: list the methods')
    .addOption(new Option('-a, --arg <value>', 'an argument; repeatable').argParser(add))
    .addOption(new Option('--json-arg <value>', 'an argument that is JSON').argParser(addJson))
    .option('-b, --bootstrap <file>', 'load this file first (default in php: vendor/autoload.php)')
    .option(
      '-r, --rootdir <dir>',
      'the project’s folder, where the method runs (default: this folder, or the nearest one above it with a project)',
    )
    .option('-e, --env <NAME=VALUE>', 'set an environment variable; repeatable', collect)
    .option('--env-file <file>', 'set the variables of this file, unless --env does; repeatable', collect)
    .option('-s, --showdocs', 'print the method’s documentation without calling it')
    .option('-d, --daemon', 'call repeatedly; on SIGTERM finish the call in progress and exit with 0')
    .addOption(
      new Option('--interval <seconds>', 'time between calls, such as 5, 500ms or 2m (default: 1)').argParser(
        parseSeconds,
      ),
    )
    .addOption(
      new Option('--timeout <seconds>', 'end the method after this time, with exit code 124')
        .argParser(parseSeconds)
        .conflicts('daemon'),
    )
    .option('--print', 'print the method’s result as JSON')
    .option(
      '--trace',
      'print a failure with its causes, their classes, files and lines, and the calls that led there',
    )
    .addOption(new Option('--runtime <name>', 'language (default: the project’s)').choices(RUNTIME_NAMES))
    .addHelpText('after', EXAMPLES)
    .action(async (reference: string, flags: Flags, command: Command) => {
      if (!flags.daemon && flags.interval !== undefined) command.error('--interval requires --daemon')
      const { runMethod } = await import('../../run/run-method.ts')
      const { daemon, interval = 1, env = [], envFile = [], showdocs = false, ...rest } = flags
      const options: RunOptions = {
        ...rest,
        reference,
        args,
        jsonArgs,
        env,
        envFiles: envFile,
        task: showdocs ? 'docs' : 'call',
        compileCache: true,
        ...(daemon ? { daemon: { interval } } : {}),
      }
      context.exitCode = await runMethod(options, context)
    })
}
