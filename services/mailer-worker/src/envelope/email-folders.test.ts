import { join } from 'node:path'
import { findExtensions } from '@latchkey/shared/extensions/find-extensions.ts'
import { someExtensions } from '@latchkey/shared/extensions/test/extension-folders.ts'
import { expect, it } from 'vitest'
import { findEmailFolders } from './email-folders.ts'
import { createTemplateRenderer } from './render-template.ts'

const extension = (name: string, ...files: string[]) => ({
  [`${name}/extension.ts`]: '',
  ...Object.fromEntries(files.map((file) => [`${name}/emails/${file}`, '{{text}}'])),
})

it('finds the mails of extensions, which can use the layout', async () => {
  await using folder = await someExtensions({
    ...extension('notes', 'en/notes-added.subject', 'en/notes-added.text'),
    'notes/emails/en/notes-added.html': '{{#> layout}}<p>{{> notes-line}}</p>{{/layout}}',
    'notes/emails/notes-line.html': '<i>{{text}}</i>',
    ...extension('plain'),
  })
  const folders = findEmailFolders(undefined, findExtensions(folder.path))
  expect(folders.slice(1)).toEqual([join(folder.path, 'notes', 'emails')])
  const { subject, html } = await createTemplateRenderer(...folders)('notes-added', 'pt', { text: '<Milk>' })
  expect(subject).toBe('<Milk>')
  expect(html).toContain('<p><i>&lt;Milk&gt;</i></p>')
  expect(html).toContain('<html lang="en">')
})

it.each([
  {
    why: 'a mail of Latchkey',
    files: extension('password', 'en/password-reset.html'),
    fault:
      'password cannot be used: emails/en/password-reset.html is a mail template of Latchkey too; rename it',
  },
  {
    why: 'the layout',
    files: extension('notes', 'layout.html'),
    fault: 'emails/layout.html is a mail template of Latchkey too',
  },
  {
    why: 'a mail of another extension',
    files: { ...extension('a', 'en/a-b-c.text'), ...extension('a-b', 'en/a-b-c.text') },
    fault: 'a-b cannot be used: emails/en/a-b-c.text is a mail template of the extension a too',
  },
  {
    why: 'a name without the prefix',
    files: extension('notes', 'fr/added.text'),
    fault: 'rename emails/fr/added.text, so that it begins with notes-',
  },
])('refuses $why', async ({ files, fault }) => {
  await using folder = await someExtensions(files)
  expect(() => findEmailFolders(undefined, findExtensions(folder.path))).toThrow(fault)
})
