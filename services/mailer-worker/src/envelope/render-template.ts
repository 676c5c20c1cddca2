import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import Handlebars from 'handlebars'
import { PermanentFailure } from '../senders/sender.ts'
import { findEmailFolders } from './email-folders.ts'
import type { Brand } from './mail-envelope.ts'

const FALLBACK_LANGUAGE = 'en'
/** The brand for an `external.ts` that passes none. */
const { PRODUCT_NAME: product, MAIL_COLOUR: colour } = parseSettings(['PRODUCT_NAME', 'MAIL_COLOUR'], {})
const DEFAULT_BRAND: Brand = { product, colour }

export interface Rendered {
  subject: string
  html: string
  text: string
}

type Template = Record<keyof Rendered, Handlebars.TemplateDelegate> & { language: string }

/**
 * Renders `<dir>/<language>/<template>.{subject,html,text}`; HTML escapes what it inserts. The files `<dir>/*.html` are
 * partials: `{{#> layout}}…{{/layout}}` wraps a mail in `layout.html`, and `{{> signature.text}}` ends a text with
 * `signature.text`. `@product`, `@support` and `@colour` are the brand; `@account` is the variable `account`. Without
 * folders, these are `templates/emails/` and `emails/` of each extension. A language without the template falls back to
 * its main language (`pt-BR` to `pt`), then to English. A missing variable is a `PermanentFailure`; an unknown template is
 * not, since a worker of a newer version has it.
 */
export function createTemplateRenderer(...given: string[]) {
  const dirs = given.length > 0 ? given : findEmailFolders()
  const loader = createTemplateLoader(dirs)
  return async (
    template: string,
    language: string,
    variables: Readonly<Record<string, string>>,
    brand: Brand = DEFAULT_BRAND,
  ): Promise<Rendered> => {
    // Checked again before it becomes part of a path.
    if (!/^[a-z][a-z0-9-]*$/.test(template)) throw new PermanentFailure('The template name is invalid')
    for (const candidate of candidateLanguages(language)) {
      const found = await loader.load(candidate, template)
      if (found) return render(found, template, variables, brand)
    }
    throw new Error(
      `The mail template ${template} does not exist; create ${template}.subject, .html and .text in ${dirs.map((dir) => join(dir, FALLBACK_LANGUAGE)).join(' or ')}`,
    )
  }
}

function candidateLanguages(language: string): string[] {
  const tag = /^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$/.test(language)
    ? language.toLowerCase()
    : FALLBACK_LANGUAGE
  return [...new Set([tag, tag.split('-')[0] ?? tag, FALLBACK_LANGUAGE])]
}

/** Reads and compiles each template once. */
function createTemplateLoader(dirs: readonly string[]) {
  const loaded = new Map<string, Promise<Template | undefined>>()
  let handlebars: Promise<typeof Handlebars> | undefined

  async function compile(language: string, name: string): Promise<Template | undefined> {
    handlebars ??= createHandlebars(dirs)
    for (const dir of dirs) {
      const found = await compileFiles(await handlebars, join(dir, language, name), language)
      if (found) return found
    }
    return undefined
  }

  return {
    load(language: string, name: string): Promise<Template | undefined> {
      const key = `${language}/${name}`
      const known = loaded.get(key)
      if (known) return known
      const loading = compile(language, name)
      // A template that does not exist is not remembered: jobs could name any number of languages.
      loading.then(
        (template) => template ?? loaded.delete(key),
        () => loaded.delete(key),
      )
      loaded.set(key, loading)
      return loading
    },
  }
}

/** A separate environment, so that other helpers registered with Handlebars do not reach these templates. */
async function createHandlebars(dirs: readonly string[]): Promise<typeof Handlebars> {
  const handlebars = Handlebars.create()
  // Splits a code into readable groups: {{#each (groups code)}}.
  handlebars.registerHelper('groups', (text: unknown) => String(text).match(/.{1,3}/gsu) ?? [])
  for (const dir of dirs) {
    const files = await readdir(dir)
    for (const file of files.filter((name) => /\.(html|text)$/.test(name)))
      handlebars.registerPartial(file.replace(/\.html$/, ''), await readFile(join(dir, file), 'utf8'))
  }
  return handlebars
}

async function compileFiles(
  handlebars: typeof Handlebars,
  path: string,
  language: string,
): Promise<Template | undefined> {
  try {
    const [subject, html, text] = await Promise.all(
      ['subject', 'html', 'text'].map((part) => readFile(`${path}.${part}`, 'utf8')),
    )
    const plain = { strict: true, noEscape: true }
    return {
      language,
      subject: handlebars.compile(subject, plain),
      html: handlebars.compile(html, { strict: true }),
      text: handlebars.compile(text, plain),
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function render(
  template: Template,
  name: string,
  variables: Readonly<Record<string, string>>,
  { product, support = '', colour }: Brand,
): Rendered {
  try {
    const shared = { language: template.language, product, support, colour, account: variables.account ?? '' }
    const subject = toOneLine(template.subject(variables, { data: shared }))
    const data = { ...shared, subject }
    return { subject, html: template.html(variables, { data }), text: template.text(variables, { data }) }
  } catch (error) {
    // Handlebars names the variable and the line, never a value.
    const reason = errorMessage(error)
    throw new PermanentFailure(`The template ${name} cannot be rendered: ${reason}`, { cause: error })
  }
}

/** Inserted text must not begin another header. */
const toOneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, ' ').trim()
