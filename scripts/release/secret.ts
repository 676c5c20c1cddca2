import { runSecret } from './secret-command.ts'

process.exitCode = await runSecret(process.argv.slice(2))
