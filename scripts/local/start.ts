import { parseArgs } from 'node:util'
import { launch } from './launch.ts'

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
  process.exitCode = await launch(process.env, values.watch ? ['--watch', '--watch-preserve-output'] : [])
}
