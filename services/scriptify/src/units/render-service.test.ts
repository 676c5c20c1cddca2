import { describe, expect, it } from 'vitest'
import { renderService } from './render-service.ts'
import { type ServiceDefinition, TEMPLATES } from './service.ts'

const aService = (changes: Partial<ServiceDefinition> = {}): ServiceDefinition => ({
  name: 'importer',
  template: 'systemd',
  description: 'Importa "tudo": 100 % é $seu \\o/',
  command: ['/usr/bin/php8.4', '/srv/call.php', '', "it's", 'two\nlines', '100 % $HOME `id` "x" \\'],
  daemon: true,
  rootdir: "/srv/it's 100 %",
  user: undefined,
  group: undefined,
  environment: { PLAIN: 'x', HARD: ' $HOME `id` "x" \\\nnext' },
  schedule: '*/5 * * * *',
  hardened: true,
  privateTmp: true,
  memoryMax: undefined,
  ...changes,
})

describe('renderService', () => {
  it.each(TEMPLATES)('writes the files of %s', async (template) => {
    await expect(await describeFiles({ template })).toMatchFileSnapshot(`golden/${template}.txt`)
  })

  it.each(TEMPLATES)('writes the files of %s for a user', async (template) => {
    await expect(
      await describeFiles({ template, user: 'app', privateTmp: false, daemon: false }),
    ).toMatchFileSnapshot(`golden/${template}-user.txt`)
  })

  it.each(TEMPLATES)(
    'writes the files of %s for a group, confined in nothing but memory',
    async (template) => {
      const changes = { template, user: 'app', group: 'www-data', hardened: false, memoryMax: '512M' }
      await expect(await describeFiles(changes)).toMatchFileSnapshot(`golden/${template}-group.txt`)
    },
  )

  it('writes no line that systemd would not read', async () => {
    const command = ['/usr/bin/php8.4', ...Array.from({ length: 10 }, () => '%'.repeat(60_000))] as const
    await expect(renderService(aService({ command }))).rejects.toThrow('over 1 MiB')
    expect(await renderService(aService({ command, template: 'crond' }))).toHaveLength(3)
  })

  it('keeps secrets to root, and lets everybody read what the init system reads', async () => {
    for (const template of TEMPLATES) {
      const files = await renderService(aService({ template, user: 'app' }))
      const secret = files.filter(({ path }) => path.startsWith('/etc/scriptify/'))
      expect(secret.every(({ mode }) => (mode & 0o077) === 0)).toBe(true)
      expect(files.filter(({ content }) => content.includes('PLAIN=')).map(({ path }) => path)).toEqual([
        '/etc/scriptify/importer.env',
      ])
    }
  })
})

async function describeFiles(changes: Partial<ServiceDefinition>): Promise<string> {
  const files = await renderService(aService(changes))
  return files.map(({ path, mode, content }) => `==> ${path} ${mode.toString(8)}\n${content}`).join('\n')
}
