import { createCli } from './cli.ts'
import { readArgv } from './read-argv.ts'
import { exitOnOutputError, runCli } from './run-cli.ts'

const argv = readArgv()
exitOnOutputError()
process.exitCode = await runCli(await createCli({ command: argv[2] }), argv)
