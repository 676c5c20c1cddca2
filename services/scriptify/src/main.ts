import { createCli } from './cli.ts'
import { runCli } from './run-cli.ts'

process.exitCode = await runCli(createCli(), process.argv)
