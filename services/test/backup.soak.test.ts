import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProject } from '@latchkey/test-support/compose-project.ts'
import { ROOT } from '@latchkey/test-support/images.ts'
import { describe, expect, it } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'

const CREDENTIALS = { username: 'user@example.com', password: '!P4ssw0rdstr!' }

/** The blocks of the page, with its files in the folder `$BACKUP`. */
const [
  dumpPostgres = '',
  restorePostgres = '',
  dumpMysql = '',
  restoreMysql = '',
  endTokens = '',
  newHost = '',
  report = '',
] = readSnippets(ROOT, 'docs/how-to/back-up-and-restore.md').map(({ text }) =>
  text.replaceAll(
    /(?:monitoring\/textfile\/)?(latchkey\.(?:dump|sql)|secrets\.tar|backup\.prom)/g,
    '"$$BACKUP/$1"',
  ),
)
/** The commands for a new host with MySQL: the page says what to replace. */
const newHostOfMysql = newHost
  .replaceAll('secrets-postgres', 'secrets-mysql')
  .replaceAll('--wait postgres', '--wait mysql')
  .replace(/^.*pg_restore.*$/m, /^.*run\/secrets.*$/m.exec(restoreMysql)?.[0] ?? '')
const onMysql = (sql: string) =>
  `docker compose exec -T mysql sh -c 'MYSQL_PWD=$(cat /run/secrets/password) exec mysql -uroot latchkey -e "${sql}"'`
const COMMANDS = {
  postgres: {
    backUp: dumpPostgres,
    restore: restorePostgres,
    onNewHost: newHost,
    prepare: 'true',
    damage: `docker compose exec -T postgres psql -U latchkey -c "drop table users cascade"`,
  },
  mysql: {
    backUp: dumpMysql,
    restore: restoreMysql,
    onNewHost: newHostOfMysql,
    // mysqldump obeys it, as every client does.
    prepare: onMysql('set global sql_select_limit = 1'),
    damage: onMysql('drop table users_property; drop table users'),
  },
}

describe.each(['postgres', 'mysql'] as const)('a backup of %s', (profile) => {
  it('restores users after the loss of their table, and secrets after the loss of their volume', async () => {
    const backup = await mkdtemp(join(tmpdir(), 'latchkey-backup-'))
    try {
      const project = await startProject({ profile, environment: { BACKUP: backup } })
      const { compose, get, post, shell } = project
      const { backUp, restore, onNewHost, prepare, damage } = COMMANDS[profile]
      const { token } = await post('/login', CREDENTIALS)
      await shell(prepare)
      await shell(`umask 077; ${backUp}\n${report}`)
      // node_exporter reads it as another user.
      expect((await stat(join(backup, 'backup.prom'))).mode & 0o777).toBe(0o644)

      await shell(damage)
      expect((await post('/login', CREDENTIALS)).status).toBe(500)
      await shell(restore)
      expect((await post('/login', CREDENTIALS)).status).toBe(200)
      expect(await get('/sampleprotected/ping', token)).toBe(200)

      await shell(restore.replace(/(?=^docker compose up --wait$)/m, endTokens))
      expect(await get('/sampleprotected/ping', token)).toBe(401)
      const { token: later } = await post('/login', CREDENTIALS)
      await shell(backUp)

      // The host is lost; only the two files are left.
      await compose('down', '--volumes')
      await shell(onNewHost)
      expect(await get('/sampleprotected/ping', later)).toBe(200)
    } finally {
      await rm(backup, { recursive: true })
    }
  })
})
