import { runMigrate } from './migrate-command.ts'

process.exitCode = await runMigrate(process.argv.slice(2))
