import { describeAuthApi } from './auth-api-app.ts'
import { lintOpenapi } from './lint-openapi.ts'

// The linters refuse localhost as a server.
const { openapi } = await describeAuthApi('https://auth.latchkey.test')
const findings = await lintOpenapi(openapi)
for (const finding of findings) process.stderr.write(`${finding}\n`)
process.exitCode = findings.length > 0 ? 1 : 0
