import { createCli } from './cli/cli.ts'
import { runCli } from './cli/run-cli.ts'
import { exitOnOutputError } from './cli/run-reported.ts'

exitOnOutputError()
process.exitCode = await runCli(await createCli({ command: process.argv[2] }), process.argv)
