import { createCli } from './cli.ts'
import { readArgv } from './read-argv.ts'
import { runCli } from './run-cli.ts'

process.exitCode = await runCli(createCli(), readArgv())
