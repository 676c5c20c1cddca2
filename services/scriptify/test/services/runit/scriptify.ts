import { createCli } from '../../../src/cli/cli.ts'
import { exitOnOutputError, runCli } from '../../../src/cli/run-cli.ts'
import { INIT_SYSTEMS } from '../../../src/services/init-systems.ts'
import { runit } from './runit.ts'

exitOnOutputError()
process.exitCode = await runCli(await createCli({ systems: [...INIT_SYSTEMS, runit] }), process.argv)
