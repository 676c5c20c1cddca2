import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { EMAILS } from '@latchkey/shared/extensions/find-extensions.ts'
import { loadExtensions } from '@latchkey/shared/extensions/load-extensions.ts'
import { MAIL_TEMPLATES, type MailTemplates } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import Handlebars from 'handlebars'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const DIR = join(import.meta.dirname, '..', '..', '..', '..', 'templates', 'emails')
const PARTS = ['subject', 'html', 'text']

/** The variables that a template and its partials insert. */
async function variablesOf(path: string): Promise<Set<string>> {
  const names = new Set<string>()
  const partials: string[] = []
  const visitor = new Handlebars.Visitor()
  visitor.PathExpression = ({ data, original, parts }) => {
    if (!data && original !== 'this') names.add(String(parts[0]))
  }
  const visitPartial = (name: hbs.AST.PathExpression | hbs.AST.SubExpression) => {
    if ('original' in name && !name.original.startsWith('@')) partials.push(name.original)
  }
  visitor.PartialStatement = ({ name }) => visitPartial(name)
  visitor.PartialBlockStatement = ({ name, program }) => {
    visitPartial(name)
    visitor.accept(program)
  }
  visitor.accept(Handlebars.parse(await readFile(path, 'utf8')))
  for (const partial of partials) {
    // Of the same extension, or Latchkey's.
    const file = partial.endsWith('.text') ? partial : `${partial}.html`
    const own = join(dirname(path), '..', file)
    for (const name of await variablesOf(existsSync(own) ? own : join(DIR, file))) names.add(name)
  }
  return names
}

const HELPERS = ['if', 'unless', 'each', 'with', 'groups']

const extensions = await loadExtensions()
const MAILS = [
  ...Object.entries<MailTemplates[string]>(MAIL_TEMPLATES).map(([template, schema]) => ({
    template,
    schema,
    dir: DIR,
    languages: [...LANGUAGES],
  })),
  ...extensions.flatMap(({ dir, mails }) =>
    Object.entries(mails).map(([template, schema]) => ({
      template,
      schema,
      dir: join(dir, EMAILS),
      languages: LANGUAGES.filter((language) =>
        existsSync(join(dir, EMAILS, language, `${template}.subject`)),
      ),
    })),
  ),
]

describe.each(MAILS)('the mail $template', ({ template, schema, dir, languages }) => {
  it.each(languages)('inserts declared variables only, in %s', async (language) => {
    const declared = [...(schema instanceof z.ZodObject ? Object.keys(schema.shape) : []), ...HELPERS]
    for (const part of PARTS) {
      const used = await variablesOf(join(dir, language, `${template}.${part}`))
      expect(
        [...used].filter((name) => !declared.includes(name)),
        `inserted by ${language}/${template}.${part}, but not declared`,
      ).toEqual([])
    }
  })
})

it.each(LANGUAGES)('every mail in %s has declared its variables', async (language) => {
  const files = await readdir(join(DIR, language))
  const expected = Object.keys(MAIL_TEMPLATES).flatMap((name) => PARTS.map((part) => `${name}.${part}`))
  expect(files.sort(), `the files in templates/emails/${language}`).toEqual(expected.sort())
})
