import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { CLIENTS, startOpenidIssuer } from './openid-issuer.ts'

// Starts Latchkey beside the OpenID provider of the tests: `node services/auth-api/test/support/start-with-provider.ts`.

const ROOT = join(import.meta.dirname, '../../../..')
const { PORT: port = '8080', PROVIDER_PORT: providerPort = '9400' } = process.env

await using provider = await startOpenidIssuer({
  callbacks: [`http://localhost:${port}/login/with/example/callback`],
  port: Number(providerPort),
  hasForms: true,
})
const latchkey = spawn('npm', ['start'], {
  cwd: ROOT,
  stdio: 'inherit',
  env: {
    ...process.env,
    OIDC_PROVIDERS: 'example',
    OIDC_EXAMPLE_ISSUER: provider.issuer,
    OIDC_EXAMPLE_CLIENT_ID: 'basic',
    OIDC_EXAMPLE_CLIENT_SECRET: CLIENTS.basic.client_secret,
    OIDC_EXAMPLE_LABEL: 'Example',
  },
})
// Ctrl-C reaches both; the provider waits for Latchkey.
process.on('SIGINT', () => undefined)
process.on('SIGTERM', () => latchkey.kill('SIGTERM'))
process.exitCode = await new Promise<number>((resolve) => latchkey.once('exit', (code) => resolve(code ?? 1)))
