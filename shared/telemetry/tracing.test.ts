import { describe, expect, it } from 'vitest'
import { startTracing } from './tracing.ts'

const logger = { warn: () => undefined }

describe('traces', () => {
  it.each([
    { why: 'without settings', environment: {} },
    {
      why: 'when the exporter is none',
      environment: { OTEL_TRACES_EXPORTER: 'none', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' },
    },
    {
      why: 'when the SDK is off',
      environment: { OTEL_SDK_DISABLED: 'TRUE', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://x' },
    },
    { why: 'by only a name', environment: { OTEL_SERVICE_NAME: 'login' } },
  ])('are off $why', async ({ environment }) => {
    expect(await startTracing('auth-api', environment, logger)).toBeUndefined()
  })
})
