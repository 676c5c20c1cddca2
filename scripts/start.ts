import { launch } from './start/launch.ts'

const USAGE = `Usage: npm start

Starts Latchkey with all it needs: an embedded PostgreSQL, a mail inbox, auth-api and the mailer-worker.
Each of DATABASE_URL, QUEUE_URL and MAIL_URL, when set, replaces its embedded part.

  APP_ENV   dev (default), test, staging or prod: which config/<env>/ is read
  PORT      where auth-api listens, 8080 by default
  DATA_DIR  where the embedded database keeps its files, .data by default
`

if (process.argv.slice(2).some((argument) => argument === '--help' || argument === '-h')) {
  process.stdout.write(USAGE)
} else {
  process.exitCode = await launch(process.env)
}
