import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MAIL_TEMPLATES } from '@latchkey/shared/mail-outbox/mail-templates.ts'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import Handlebars from 'handlebars'
import { describe, expect, it } from 'vitest'

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
    for (const name of await variablesOf(join(DIR, `${partial}.html`))) names.add(name)
  }
  return names
}

const HELPERS = ['if', 'unless', 'each', 'with', 'groups']

describe.each(Object.entries(MAIL_TEMPLATES))('the mail %s', (template, schema) => {
  it.each(LANGUAGES)('inserts declared variables only, in %s', async (language) => {
    for (const part of PARTS) {
      const used = await variablesOf(join(DIR, language, `${template}.${part}`))
      const declared = [...Object.keys(schema.shape), ...HELPERS]
      expect(
        [...used].filter((name) => !declared.includes(name)),
        `inserted by ${language}/${template}.${part}, but not declared in MAIL_TEMPLATES`,
      ).toEqual([])
    }
  })
})

it.each(LANGUAGES)('every mail in %s has declared its variables', async (language) => {
  const files = await readdir(join(DIR, language))
  const expected = Object.keys(MAIL_TEMPLATES).flatMap((name) => PARTS.map((part) => `${name}.${part}`))
  expect(files.sort(), `the files in templates/emails/${language}`).toEqual(expected.sort())
})
