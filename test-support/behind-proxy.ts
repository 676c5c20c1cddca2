import { join } from 'node:path'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import type { ComposeProject } from './compose-project.ts'
import { findFreePort } from './free-port.ts'
import { docker } from './images.ts'
import { postOverTls } from './keep-logging-in.ts'

export const CREDENTIALS = { username: 'ada@example.com', password: 'Correct-Horse-9' }

/** The environment of a project with the profile `proxy` on free ports. */
export async function proxyEnvironment(database: 'postgres' | 'mysql' = 'postgres') {
  const [http, https] = [await findFreePort(), await findFreePort()]
  const image = 'latchkey-test/caddy:1'
  await docker('build', '--quiet', '--tag', image, join(import.meta.dirname, 'caddy'))
  return {
    API_SERVER: 'https://localhost',
    COMPOSE_PROFILES: `${database},proxy`,
    PROXY_IMAGE: image,
    PROXY_HTTP_PORT: `127.0.0.1:${http}`,
    PROXY_HTTPS_PORT: `127.0.0.1:${https}`,
  }
}

/** Sends a request through the proxy of a project; resolves with its status. */
export async function openProxy(
  { inside }: ComposeProject,
  { PROXY_HTTPS_PORT }: { PROXY_HTTPS_PORT: string },
) {
  const ca = await inside('proxy', 'cat /data/caddy/pki/authorities/local/root.crt')
  const origin = `https://localhost:${PROXY_HTTPS_PORT.split(':')[1]}`
  return (path: string, body: object) => postOverTls(`${origin}${path}`, body, ca)
}

/** Stores the user of `CREDENTIALS`, since prod has no demo users. */
export async function addUser(
  { inside }: ComposeProject,
  database: 'postgres' | 'mysql' = 'postgres',
): Promise<void> {
  const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 1 })
  const hash = await passwords.hash(CREDENTIALS.password)
  await passwords.close()
  const values = `'Ada', '${CREDENTIALS.username}', 'ada', '${hash}', 'user'`
  const insert = `insert into users (name, email, username, password, role) values (${values})`
  const client =
    database === 'postgres'
      ? 'psql -qU latchkey'
      : 'MYSQL_PWD=$(cat /run/secrets/password) mysql -uroot latchkey'
  await inside(database, `${client} <<'SQL'\n${insert}\nSQL`)
}
