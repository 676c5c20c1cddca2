import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import { describe, expect, it } from 'vitest'
import { PermanentFailure } from '../senders/sender.ts'
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
    // A subject shows on a locked screen.
    expect(subject).not.toMatch(/\d/)
    expect(html).not.toMatch(/<img|url\(|src=/)
  })

  it.each([
    { language: 'en', says: '29 seconds' },
    { language: 'fr', says: '29 secondes' },
    { language: 'pt', says: '29 segundos' },
  ])('says a short lifetime in seconds: $says', async ({ language, says }) => {
    const short = { ...variables, minutes: '1', seconds: '29' }
    const { html, text } = await render('password-reset', language, short)
    for (const part of [html, text]) {
      expect(part).toContain(says)
      expect(part).not.toContain('1 minut')
    }
  })

  it.each(LANGUAGES)('names the product, the account and the support as text, in %s', async (language) => {
    const brand = { product: 'A <b> & Co', support: 'help@example.com', colour: '#123abc' }
    for (const template of [
      'password-changed',
      'roles-changed',
      'failed-logins',
      'failed-factors',
      'recovery-codes-renewed',
      'email-changed',
      'account-deleted',
    ]) {
      const notice = {
        at: 'today',
        address: '192.0.*.*',
        role: 'admin',
        count: '20',
        account: 'a***@example.com',
      }
      const { html, text } = await render(template, language, notice, brand)
      expect(html).toContain('A &lt;b&gt; &amp; Co · a***@example.com<br>help@example.com')
      expect(text).toContain('A <b> & Co · a***@example.com · help@example.com')
      expect(html).toContain('4px solid #123abc')
      if (template !== 'roles-changed') expect(text).toContain('192.0.*.*')
      // A notice that has a link teaches users to click on the links of others.
      expect(html).not.toMatch(/href|https?:/)
      expect(text).not.toMatch(/https?:/)
    }
  })

  it('names no account where a mail has none', async () => {
    const { text } = await render('password-reset', 'en', variables)
    expect(text).toMatch(/-- \nLatchkey\n$/)
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

  it.each(['../en/password-reset', 'password-reset.html', '', '/etc/passwd'])(
    'fails permanently for the template "%s"',
    async (template) => {
      await expect(render(template, 'en', variables)).rejects.toThrow(PermanentFailure)
    },
  )

  it('names an unknown template, and the variable that is missing', async () => {
    const unknown = render('no-such-template', 'fr', variables)
    await expect(unknown).rejects.toThrow('no-such-template')
    // A worker of a newer version has it.
    await expect(unknown).rejects.not.toThrow(PermanentFailure)
    await expect(render('password-reset', 'en', { code: '012345' })).rejects.toThrow('minutes')
  })

  it('keeps a subject to one line', async () => {
    const dir = await aTemplateFolder({ 'en/x.subject': 'Hi {{name}}', 'en/x.html': '', 'en/x.text': '' })
    const { subject } = await createTemplateRenderer(dir)('x', 'en', { name: 'a\r\nBcc: b@example.com' })
    expect(subject).toBe('Hi a Bcc: b@example.com')
  })

  it('wraps a mail in the layout only where it says so, with its language and subject', async () => {
    const dir = await aTemplateFolder({
      'layout.html': '<html lang="{{@language}}"><title>{{@subject}}</title>{{> @partial-block}}</html>',
      'fr/wrapped.subject': 'Bonjour & bienvenue',
      'fr/wrapped.html': '{{#> layout}}<p>{{name}}</p>{{/layout}}',
      'fr/wrapped.text': '{{name}}',
      'fr/whole.subject': 'Bonjour',
      'fr/whole.html': '<!doctype html><p>{{name}}</p>',
      'fr/whole.text': '{{name}}',
    })
    const renderFrom = createTemplateRenderer(dir)
    const html = async (template: string) => (await renderFrom(template, 'fr-CA', { name: '<Zoë>' })).html
    expect(await html('wrapped')).toBe(
      '<html lang="fr"><title>Bonjour &amp; bienvenue</title><p>&lt;Zoë&gt;</p></html>',
    )
    expect(await html('whole')).toBe('<!doctype html><p>&lt;Zoë&gt;</p>')
  })

  it('fails permanently for a partial that does not exist, and for a missing variable in a partial', async () => {
    const dir = await aTemplateFolder({
      'code.html': '{{code}}',
      'en/no-partial.subject': '',
      'en/no-partial.html': '{{> footer}}',
      'en/no-partial.text': '',
      'en/no-variable.subject': '',
      'en/no-variable.html': '{{> code}}',
      'en/no-variable.text': '',
    })
    const renderFrom = createTemplateRenderer(dir)
    await expect(renderFrom('no-partial', 'en', {})).rejects.toThrow(PermanentFailure)
    await expect(renderFrom('no-variable', 'en', {})).rejects.toThrow(PermanentFailure)
  })
})

async function aTemplateFolder(files: Readonly<Record<string, string>>): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'templates-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await writeFile(join(dir, path), text)
  }
  return dir
}
