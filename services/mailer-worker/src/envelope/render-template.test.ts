import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import { describe, expect, it } from 'vitest'
import { PermanentFailure } from '../permanent-failure.ts'
import { createTemplateRenderer } from './render-template.ts'

const render = createTemplateRenderer()
const variables = { code: '012345', minutes: '10' }

describe('rendering a mail', () => {
  it.each(LANGUAGES)('has the code for reading and for copying, and the minutes, in %s', async (language) => {
    const { subject, html, text } = await render('password-reset', language, variables)
    expect(html).toContain(`<html lang="${language}">`)
    // Two pieces for the eye, and no space between them for the clipboard.
    expect(html.replace(/<[^>]+>/g, '')).toContain('012345')
    expect(html).toMatch(/>012<\/span><span[^>]*>345</)
    expect(text).toContain('    012 345\n')
    expect(text).toContain('012345')
    expect(text).toContain('10 minut')
    // Whoever looks over a shoulder reads subjects.
    expect(subject).not.toMatch(/\d/)
    expect(html).not.toMatch(/<img|url\(|src=/)
  })

  it('greets by name, and escapes it in HTML only', async () => {
    const { html, text } = await render('password-reset', 'en', { ...variables, name: '<b>"Ada" & Co</b>' })
    expect(html).toContain('Hello &lt;b&gt;&quot;Ada&quot; &amp; Co&lt;/b&gt;,')
    expect(text).toContain('Hello <b>"Ada" & Co</b>,')
  })

  it.each([
    { asked: 'pt-BR', got: 'pt' },
    { asked: 'FR', got: 'fr' },
    { asked: 'xx', got: 'en' },
    { asked: '../fr', got: 'en' },
  ])('renders $asked in $got', async ({ asked, got }) => {
    expect((await render('password-reset', asked, variables)).html).toContain(`lang="${got}"`)
  })

  it.each(['no-such-template', '../en/password-reset', 'password-reset.html', '', '/etc/passwd'])(
    'fails for good for the template "%s"',
    async (template) => {
      await expect(render(template, 'en', variables)).rejects.toThrow(PermanentFailure)
    },
  )

  it('names an unknown template, and the variable that is missing', async () => {
    await expect(render('no-such-template', 'fr', variables)).rejects.toThrow('no-such-template')
    await expect(render('password-reset', 'en', { code: '012345' })).rejects.toThrow('minutes')
  })

  it('keeps a subject to one line', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'templates-'))
    await mkdir(join(dir, 'en'))
    for (const part of ['subject', 'html', 'text'])
      await writeFile(join(dir, 'en', `x.${part}`), 'Hi {{name}}')
    const { subject } = await createTemplateRenderer(dir)('x', 'en', { name: 'a\r\nBcc: b@example.com' })
    expect(subject).toBe('Hi a Bcc: b@example.com')
  })
})
