import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configureExtensions } from './configure-extensions.ts'
import { findExtensions, getExtension } from './find-extensions.ts'
import { loadExtensions } from './load-extensions.ts'
import { entry, someExtensions } from './test/extension-folders.ts'

const ENTRY = `export default { routes: () => import('./routes.ts') }`

describe('an extension that cannot be loaded', () => {
  it.each([
    {
      why: 'no entry',
      files: { 'notes/routes.ts': '' },
      fault: 'notes cannot be used: extensions/notes/extension.ts does not exist',
    },
    {
      why: 'a name that cannot be one',
      files: { 'My_Notes/extension.ts': ENTRY },
      fault: /^The extension My_Notes cannot be used: rename its folder/,
    },
    {
      why: 'no default export',
      files: { 'notes/extension.ts': 'export const notes = {}' },
      fault: /must export defineExtension/,
    },
    {
      why: 'an unknown part',
      files: { 'notes/extension.ts': 'export default { route: 1 }' },
      fault:
        'notes cannot be used: extension.ts declares route; an extension has roles, settings, mails, routes',
    },
    {
      why: 'a missing package',
      files: { 'notes/extension.ts': `import 'no-such-package'` },
      fault: /no-such-package/,
    },
    {
      why: 'an error',
      files: { 'notes/extension.ts': `\nthrow new TypeError('boom')` },
      fault: /: boom \(extension\.ts:2\)$/,
    },
    {
      why: 'no routes in their module',
      files: { 'notes/extension.ts': ENTRY, 'notes/routes.ts': '' },
      fault: /routes must be a function that is exported/,
    },
  ])('is refused by name, in one line: $why', async ({ files, fault }) => {
    await using folder = await someExtensions(files)
    const loading = (async () => {
      for (const extension of await loadExtensions(findExtensions(folder.path))) await extension.loadRoutes()
    })()
    await expect(loading).rejects.toThrow(fault)
    await expect(loading).rejects.toThrow(/^The extension [^\n]+ cannot be used: [^\n]+$/)
  })

  it('is not one for a file, or a folder that no one can see', async () => {
    await using folder = await someExtensions({ 'README.md': '', '.git/x': '', 'notes/extension.ts': ENTRY })
    expect(findExtensions(folder.path)).toEqual([getExtension('notes', folder.path)])
    expect(findExtensions(join(folder.path, 'absent'))).toEqual([])
  })
})

const withSettings = (...names: string[]) =>
  entry(
    `{ settings: { ${names.map((name) => `${name}: wholeNumber({ description: '', default: 1 })`).join()} } }`,
  )
const withMail = (name: string) => entry(`{ mails: { '${name}': z.strictObject({}) } }`)
const templates = (extension: string, mail: string) =>
  Object.fromEntries(
    ['subject', 'html', 'text'].map((part) => [`${extension}/emails/en/${mail}.${part}`, '']),
  )

describe('a name that an extension declares', () => {
  it.each([
    {
      why: 'another prefix',
      files: { 'notes/extension.ts': withSettings('PER_USER') },
      fault: 'notes cannot be used: its setting PER_USER must begin with NOTES_',
    },
    {
      why: "one of Latchkey's settings",
      files: { 'notes/extension.ts': withSettings('JWT_SECRET') },
      fault: 'its setting JWT_SECRET must begin with NOTES_',
    },
    {
      why: "a prefix of Latchkey's settings",
      files: { 'mail/extension.ts': withSettings('MAIL_LIMIT') },
      fault:
        'mail cannot be used: MAIL_LINK_URL is a setting of Latchkey, so MAIL_ cannot be its prefix; rename its folder',
    },
    {
      why: 'other letters',
      files: { 'notes/extension.ts': withSettings('NOTES_é') },
      fault: 'its setting NOTES_é must consist of upper-case letters, digits and underscores',
    },
    {
      why: 'a setting of another extension',
      files: { 'a/extension.ts': withSettings('A_B_C'), 'a-b/extension.ts': withSettings('A_B_C') },
      fault: 'The extension a-b cannot be used: its setting A_B_C is also one of the extension a; rename one',
    },
    {
      why: 'a mail with another name',
      files: { 'notes/extension.ts': withMail('added') },
      fault: 'its mail template added must begin with notes-',
    },
    {
      why: "one of Latchkey's mails",
      files: { 'password/extension.ts': withMail('password-reset') },
      fault: 'password-reset is a mail template of Latchkey, so password- cannot be its prefix',
    },
    {
      why: 'a mail of another extension',
      files: {
        'a/extension.ts': withMail('a-b-c'),
        'a-b/extension.ts': withMail('a-b-c'),
        ...templates('a', 'a-b-c'),
        ...templates('a-b', 'a-b-c'),
      },
      fault: 'a-b cannot be used: its mail template a-b-c is also one of the extension a',
    },
    {
      why: 'a mail without its files',
      files: { 'notes/extension.ts': withMail('notes-added'), 'notes/emails/en/notes-added.text': '' },
      fault: 'its mail templates lack emails/en/notes-added.subject, emails/en/notes-added.html',
    },
    {
      why: 'what is not a setting',
      files: { 'notes/extension.ts': entry('{ settings: { NOTES_X: 100 } }') },
      fault: 'settings.NOTES_X must be a setting, such as text({ … })',
    },
    {
      why: 'what is not a schema',
      files: { 'notes/extension.ts': entry(`{ mails: { 'notes-x': {} } }`) },
      fault: 'mails.notes-x must be a zod schema',
    },
  ])('is refused: $why', async ({ files, fault }) => {
    await using folder = await someExtensions(files)
    await expect(loadExtensions(findExtensions(folder.path))).rejects.toThrow(fault)
  })

  it('may be misspelt nowhere, and its value is checked like every other', async () => {
    await using folder = await someExtensions({
      'notes/extension.ts': entry(`{ settings: {
        NOTES_LIMIT: wholeNumber({ description: '', unit: 'notes', default: 5 }),
        NOTES_KEY: secret(32, { description: '' }),
      } }`),
    })
    const extensions = await loadExtensions(findExtensions(folder.path))
    const key = randomBytes(32).toString('base64')
    expect(configureExtensions(extensions, { NOTES_KEY: key })[0]?.values).toEqual({
      NOTES_LIMIT: 5,
      NOTES_KEY: expect.any(Uint8Array),
    })
    const faulty = { NOTES_LIMITS: '1', NOTES_LIMIT: 'x', NOTES_KEY: 'hunter2', OTHER: '' }
    expect(() => configureExtensions(extensions, faulty)).toThrow(
      [
        'The settings cannot be used:',
        '  NOTES_LIMITS is not a setting. Did you mean NOTES_LIMIT?',
        '  NOTES_LIMIT must be a whole number of notes, at least 0. For example: NOTES_LIMIT=5',
        '  NOTES_KEY is not base64. Generate one with `npm run secret 32`.',
      ].join('\n'),
    )
  })
})
