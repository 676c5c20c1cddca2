import { randomBytes } from 'node:crypto'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import type { Servers } from '@latchkey/test-support/mail-servers.ts'
import { MIGRATED_TEMPLATE } from '@latchkey/test-support/servers/migrated-template.ts'
import { hasDocker, sharedServer } from '@latchkey/test-support/servers/shared-server.ts'

/** A migrated database with its own queue on the PostgreSQL server of the run: for tests that know no engine. */
export async function createOwnServers(): Promise<
  Pick<Servers, 'databaseUrl' | 'queueUrl'> & AsyncDisposable
> {
  const server = await sharedServer(hasDocker() ? 'postgres' : 'embedded')
  const name = `mail_${randomBytes(6).toString('hex')}`
  const admin = await openDatabase(server, { poolSize: 1 })
  await admin.runScript(`create database ${name} template ${MIGRATED_TEMPLATE}`)
  const url = new URL(server)
  url.pathname = `/${name}`
  await prepareQueue(url.href)
  const db = await openDatabase(url.href, { poolSize: 1 })
  // The template has one as well.
  await db.runScript(`update latchkey_installation set id = '${name.slice(-12)}'`)
  await db.close()
  return {
    databaseUrl: url.href,
    queueUrl: url.href,
    async [Symbol.asyncDispose]() {
      await admin.runScript(`drop database ${name} with (force)`)
      await admin.close()
    },
  }
}
