import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'

const PORT = 6432
/** All else is PgBouncer's default: the suites open more connections than its 100. */
const SETTINGS = { pool_mode: 'transaction', max_client_conn: 2_000 }

/** A PgBouncer in front of the server of `url`, whose user may read the passwords of all others. */
export const startPgbouncer = (
  { username, password, port }: URL,
  settings: Record<string, string | number> = {},
): Promise<StartedTestContainer> =>
  new GenericContainer('edoburu/pgbouncer:v1.25.1-p0')
    .withExtraHosts([{ host: 'host.docker.internal', ipAddress: 'host-gateway' }])
    .withCopyContentToContainer([
      {
        target: '/etc/pgbouncer/pgbouncer.ini',
        content: `[databases]
* = host=host.docker.internal port=${port}
[pgbouncer]
listen_addr = 0.0.0.0
listen_port = ${PORT}
auth_type = scram-sha-256
auth_file = /etc/pgbouncer/userlist.txt
auth_user = ${username}
${Object.entries({ ...SETTINGS, ...settings })
  .map(([name, value]) => `${name} = ${value}\n`)
  .join('')}`,
      },
      { target: '/etc/pgbouncer/userlist.txt', content: `"${username}" "${password}"\n` },
    ])
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forListeningPorts())
    .start()

/** `url` with the address of `container` instead of the server's. */
export const throughPgbouncer = (url: string, container: StartedTestContainer): string =>
  Object.assign(new URL(url), { hostname: container.getHost(), port: container.getMappedPort(PORT) }).href
