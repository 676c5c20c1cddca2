import { expect, it } from 'vitest'
import { startApp } from './support/start-app.ts'

it('is a page in dev that links every part, and shows a command that logs in', async () => {
  const settings = { APP_ENV: 'dev', INBOX_URL: 'http://127.0.0.1:1080', METRICS_PORT: '9464' }
  await using app = await startApp({ settings })
  const page = await app.server.inject({ url: '/', headers: { host: 'localhost:8080' } })
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.headers['content-security-policy']).toContain("default-src 'none'")
  expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
  const links = [...page.body.matchAll(/href="([^"]+)"/g)].map(([, target]) => target)
  expect(links).toEqual([
    'docs',
    'openapi.json',
    'account/',
    'http://127.0.0.1:1080',
    'http://localhost:9464/metrics',
    'health/ready',
  ])
  for (const target of ['docs', 'openapi.json', 'account/', 'health/ready'])
    expect((await app.server.inject(`/${target}`)).statusCode, target).toBeLessThan(400)
  expect(page.body).toContain('curl -s http://localhost:8080/login')
  expect(page.body).toContain('admin@example.com (admin), user@example.com (user)')
})

it.each([
  { host: 'a"><script>alert(1)</script>' },
  { host: 'evil.example' },
  { origin: 'https://evil.example' },
])('shows another origin or host name nothing of the environment: %o', async (headers) => {
  await using app = await startApp({ settings: { APP_ENV: 'dev', INBOX_URL: 'http://127.0.0.1:1080' } })
  const { body } = await app.server.inject({ url: '/', headers })
  expect(body).not.toMatch(/127\.0\.0\.1:1080|<script/)
})

it('is an index in JSON elsewhere, without the demo users', async () => {
  await using app = await startApp({ settings: { APP_ENV: 'prod', INBOX_URL: 'http://127.0.0.1:1080' } })
  const index = await app.server.inject('/')
  expect(index.json()).toEqual({
    name: 'Latchkey',
    description: 'A login and token service',
    openapi: '/openapi.json',
    health: '/health/ready',
  })
})

it('links /docs where that is switched on, and not elsewhere', async () => {
  const settings = { APP_ENV: 'prod', DOCS_PAGE: 'on' }
  await using prod = await startApp({ settings })
  expect((await prod.server.inject('/')).json()).toMatchObject({ documentation: '/docs' })
  expect((await prod.server.inject('/docs')).statusCode).toBe(302)
  await using dev = await startApp({
    database: prod.database,
    settings: { APP_ENV: 'dev', DOCS_PAGE: 'off' },
  })
  const page = await dev.server.inject({ url: '/', headers: { host: 'localhost:8080' } })
  expect(page.body).not.toContain('docs')
  expect((await dev.server.inject('/docs')).statusCode).toBe(404)
})
