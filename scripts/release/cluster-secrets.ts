import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { databaseUrl, generateLogin, OWNERS, queueUrl, redisConfig } from './deployed-secrets.ts'

const USAGE = `Usage: npx node scripts/release/cluster-secrets.ts | kubectl create -n latchkey-dev -f -

Prints new secrets for deploy/k8s/overlays/dev, different ones each time.
`
const args = process.argv.slice(2)
if (args.length > 0) {
  const isHelp = args.length === 1 && (args[0] === '--help' || args[0] === '-h')
  process[isHelp ? 'stdout' : 'stderr'].write(USAGE)
  process.exit(isHelp ? 0 : 2)
}

const databasePassword = generateSecret(24)
const redisPassword = generateSecret(24)
const shared = { MAIL_SECRET: generateSecret(32), QUEUE_URL: queueUrl(redisPassword) }
const urlOf = (login: string) => databaseUrl('postgres', login)

const secret = (name: string, stringData: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name },
  stringData,
})

const items = [
  secret('migrate-secrets', { DATABASE_URL: urlOf(`${OWNERS.postgres}:${databasePassword}`) }),
  secret('auth-api-secrets', {
    JWT_SECRET: generateSecret(64),
    FACTOR_SECRET: generateSecret(32),
    DATABASE_URL: urlOf(generateLogin('auth_api')),
    ...shared,
  }),
  secret('mailer-worker-secrets', { DATABASE_URL: urlOf(generateLogin('mailer_worker')), ...shared }),
  secret('postgres-secrets', { password: databasePassword }),
  secret('redis-secrets', { 'redis.conf': redisConfig(redisPassword) }),
]
process.stdout.write(`${JSON.stringify({ apiVersion: 'v1', kind: 'List', items }, undefined, 2)}\n`)
