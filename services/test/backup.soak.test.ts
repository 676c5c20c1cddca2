import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startProject } from './support/compose-project.ts'

const CREDENTIALS = { username: 'user@example.com', password: '!P4ssw0rdstr!' }

/** The commands of docs/how-to/back-up-and-restore.md. */
const AS_MYSQL = (program: string) =>
  `docker compose exec -T mysql sh -c 'MYSQL_PWD=$(cat /run/secrets/password) exec ${program}'`
const COMMANDS = {
  postgres: {
    dump: 'docker compose exec -T postgres pg_dump -U latchkey -Fc latchkey > "$BACKUP/latchkey.dump"',
    restore:
      'docker compose exec -T postgres pg_restore -U latchkey -d latchkey --clean --if-exists < "$BACKUP/latchkey.dump"',
    damage: `docker compose exec -T postgres psql -U latchkey -c "drop table users cascade"`,
  },
  mysql: {
    dump: `${AS_MYSQL('mysqldump -uroot --single-transaction --set-gtid-purged=OFF --hex-blob latchkey')} > "$BACKUP/latchkey.sql"`,
    restore: `${AS_MYSQL('mysql -uroot latchkey')} < "$BACKUP/latchkey.sql"`,
    damage: AS_MYSQL('mysql -uroot latchkey -e "drop table users_property; drop table users"'),
  },
}

describe.each(['postgres', 'mysql'] as const)('a backup of %s', (profile) => {
  it('restores users after the loss of their table, and secrets after the loss of their volume', async () => {
    const backup = await mkdtemp(join(tmpdir(), 'latchkey-backup-'))
    try {
      const project = await startProject({ profile, environment: { BACKUP: backup } })
      const { compose, get, post, shell } = project
      const { dump, restore, damage } = COMMANDS[profile]
      const { token } = await post('/login', CREDENTIALS)
      await shell(dump)
      await shell(
        `docker compose run --rm --no-deps -T --user 0:0 secrets-${profile} tar -C /secrets/kept -c . > "$BACKUP/secrets.tar"`,
      )

      await shell(damage)
      expect((await post('/login', CREDENTIALS)).status).toBe(500)
      await compose('stop', 'auth-api', 'mailer-worker')
      await shell(restore)
      await compose('up', '--wait')
      expect((await post('/login', CREDENTIALS)).status).toBe(200)
      expect(await get('/sampleprotected/ping', token)).toBe(200)

      // The host is lost; only the two files are left.
      await compose('down', '--volumes')
      await shell(
        `docker compose run --rm --no-deps -T --user 0:0 secrets-${profile} tar -C /secrets/kept -x < "$BACKUP/secrets.tar"`,
      )
      await compose('up', '--wait', profile)
      await shell(restore)
      await compose('up', '--wait')
      expect(await get('/sampleprotected/ping', token)).toBe(200)
    } finally {
      await rm(backup, { recursive: true })
    }
  })
})
