import { createCli } from './cli.ts'
import { readArgv } from './read-argv.ts'
import { runCli } from './run-cli.ts'

const argv = readArgv()
process.exitCode = await runCli(await createCli({ command: argv[2] }), argv)
