import { GenericContainer, Wait } from 'testcontainers'
import { onTestFinished } from 'vitest'
import type { Authority } from './certificate-authority.ts'

const PASSWORD = 'secret'

/** Servers that speak TLS, with their owners. */
export const SERVERS = {
  postgres: {
    port: 5432,
    image: 'postgres:18',
    user: 'postgres',
    environment: { POSTGRES_PASSWORD: PASSWORD, POSTGRES_DB: 'latchkey' },
    command: 'docker-entrypoint.sh postgres -c ssl=on -c ssl_cert_file=/tls/cert -c ssl_key_file=/tls/key',
    ready: Wait.forLogMessage(/ready to accept connections/, 2),
    owner: `postgres:${PASSWORD}`,
  },
  mysql: {
    port: 3306,
    image: 'mysql:9',
    user: 'mysql',
    environment: { MYSQL_ROOT_PASSWORD: PASSWORD, MYSQL_DATABASE: 'latchkey' },
    command:
      'docker-entrypoint.sh mysqld --ssl-cert=/tls/cert --ssl-key=/tls/key --require-secure-transport=ON',
    ready: Wait.forLogMessage(/ready for connections.*port: 3306/),
    owner: `root:${PASSWORD}`,
  },
  redis: {
    port: 6379,
    image: 'redis:8',
    user: 'redis',
    environment: {},
    command: `docker-entrypoint.sh redis-server --port 0 --tls-port 6379 --tls-cert-file /tls/cert --tls-key-file /tls/key --tls-auth-clients no --requirepass ${PASSWORD}`,
    ready: Wait.forLogMessage('Ready to accept connections'),
    owner: `:${PASSWORD}`,
  },
}

/** Starts a server that speaks TLS, and returns its host and port. */
export async function startServer(kind: keyof typeof SERVERS, { server }: Authority): Promise<string> {
  const { port, image, user, environment, command, ready } = SERVERS[kind]
  const started = await new GenericContainer(image)
    .withEnvironment(environment)
    .withCopyContentToContainer([
      { content: server.cert, target: '/given/cert' },
      { content: server.key, target: '/given/key' },
    ])
    .withEntrypoint(['sh', '-c'])
    .withCommand([`install -d -o ${user} /tls && install -o ${user} -m 600 /given/* /tls && exec ${command}`])
    .withExposedPorts(port)
    .withWaitStrategy(ready)
    .start()
  onTestFinished(async () => void (await started.stop()))
  return `localhost:${started.getMappedPort(port)}`
}
