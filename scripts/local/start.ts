import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { ExtensionError } from '@latchkey/shared/extensions/find-extensions.ts'
import { runService } from '@latchkey/shared/lifecycle/run-service.ts'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { EXIT_CONFIGURATION, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { ENVIRONMENTS, writeCredentials } from '../release/credentials-file.ts'
import { loadLaunchEnvironment } from './launch-settings.ts'

const USAGE = `Usage: npm start
       npm run dev

Starts Latchkey with everything it needs: an embedded PostgreSQL, a mail inbox, auth-api and mailer-worker.
DATABASE_URL, QUEUE_URL and MAIL_URL, if set, replace the embedded database, queue and inbox.
With npm run dev, Node restarts a service whenever a module that it has loaded changes.

  APP_ENV   dev (default), test, staging or prod: the folder of config/ to read
  PORT      the port of auth-api, 8080 by default
  HOST      the address on which auth-api listens, 127.0.0.1 by default
  DATA_DIR  the folder of the embedded databases, .data by default; each environment has its own below it
`

const { values } = parseArgs({
  options: { help: { type: 'boolean', short: 'h' }, watch: { type: 'boolean' } },
  strict: false,
})
if (values.help) {
  process.stdout.write(USAGE)
} else {
  // Signals are handled from here on. Until now Ctrl-C ended the process by itself, and nothing had to be stopped.
  const settings = await readSettings()
  const nodeOptions = values.watch ? ['--watch', '--watch-preserve-output'] : []
  await runService(settings, async () => {
    const { launch } = await import('./launch.ts')
    return { openService: (lifecycle) => launch(lifecycle, settings, nodeOptions) }
  })
}

async function readSettings(): Promise<Environment> {
  const unwritten = await generateSecrets()
  try {
    return await loadLaunchEnvironment(process.env)
  } catch (error) {
    if (!(error instanceof SettingsError || error instanceof ExtensionError)) throw error
    process.stderr.write([errorMessage(error), ...unwritten, ''].join('\n'))
    process.exit(EXIT_CONFIGURATION)
  }
}

/** Writes the secrets that are missing; returns why none could be written, which matters where none are set. */
async function generateSecrets(): Promise<string[]> {
  try {
    for (const name of ENVIRONMENTS) {
      const isNew = await writeCredentials(CONFIG_DIR, name)
      if (isNew) process.stdout.write(`Generated secrets: config/${name}/credentials.env\n`)
    }
    return []
  } catch (error) {
    return [`No secrets were generated: start as the owner of this folder (${errorMessage(error)}).`]
  }
}
