import { createCli } from './cli/cli.ts'
import { exitOnOutputError, runCli } from './cli/run-cli.ts'

exitOnOutputError()
process.exitCode = await runCli(await createCli({ command: process.argv[2] }), process.argv)
