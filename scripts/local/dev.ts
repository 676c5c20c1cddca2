import { join } from 'node:path'
import { launch } from './launch.ts'
import { prepareDatabase } from './prepare-database.ts'
import { startRestarting } from './restarting-service.ts'
import type { StartService } from './service-process.ts'

const USAGE = `Usage: npm run dev

As npm start, and a service starts anew whenever a file that it loads changes. New migrations are applied first.
Settings are read once: after a change of config/, press Ctrl-C and start again.
`

const ROOT = join(import.meta.dirname, '..', '..')
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'auth-api': ['services/auth-api/src', 'shared', 'extensions', 'migrations'],
  'mailer-worker': ['services/mailer-worker/src', 'shared', 'extensions', 'templates/emails', 'config'],
}

const startAnew: StartService = (name, file, environment) =>
  startRestarting(name, file, environment, {
    folders: (FOLDERS[name] ?? []).map((folder) => join(ROOT, folder)),
    prepare: async (changed) => {
      const hasMigration = [...changed].some((path) => path.endsWith('.sql'))
      if (hasMigration && name === 'auth-api') await prepareDatabase(environment)
    },
    say: (text) => void process.stdout.write(`${text.replaceAll(`${ROOT}/`, '')}\n`),
  })

if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
  process.stdout.write(USAGE)
} else {
  process.exitCode = await launch(process.env, startAnew)
}
