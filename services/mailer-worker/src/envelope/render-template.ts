import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Handlebars from 'handlebars'
import { PermanentFailure } from '../permanent-failure.ts'

const TEMPLATES_DIR = join(import.meta.dirname, '..', '..', '..', '..', 'templates', 'emails')
const FALLBACK_LANGUAGE = 'en'

export interface Rendered {
  subject: string
  html: string
  text: string
}

type Template = Record<keyof Rendered, Handlebars.TemplateDelegate>
export type RenderTemplate = ReturnType<typeof createTemplateRenderer>

/**
 * Renders `<dir>/<language>/<template>.{subject,html,text}`; HTML escapes what it inserts. A language that lacks the
 * template falls back to its main language (`pt-BR` to `pt`), then to English. An unknown template, or a variable that
 * a template wants and does not get, is a `PermanentFailure`.
 */
export function createTemplateRenderer(dir: string = TEMPLATES_DIR) {
  const handlebars = createHandlebars()
  const loaded = new Map<string, Promise<Template | undefined>>()

  function load(language: string, name: string): Promise<Template | undefined> {
    const key = `${language}/${name}`
    const known = loaded.get(key)
    if (known) return known
    const loading = compileFiles(handlebars, join(dir, language, name))
    // What does not exist is not remembered: a job could name any number of languages.
    loading.then(
      (template) => template ?? loaded.delete(key),
      () => loaded.delete(key),
    )
    loaded.set(key, loading)
    return loading
  }

  return async (
    template: string,
    language: string,
    variables: Readonly<Record<string, string>>,
  ): Promise<Rendered> => {
    // Checked before it becomes part of a path, whoever calls.
    if (!/^[a-z][a-z0-9-]*$/.test(template)) throw new PermanentFailure('The template has an unusable name')
    for (const candidate of candidateLanguages(language)) {
      const found = await load(candidate, template)
      if (found) return render(found, template, variables)
    }
    throw new PermanentFailure(`There is no template ${template}`)
  }
}

function candidateLanguages(language: string): string[] {
  const tag = /^[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8})*$/.test(language)
    ? language.toLowerCase()
    : FALLBACK_LANGUAGE
  return [...new Set([tag, tag.split('-')[0] ?? tag, FALLBACK_LANGUAGE])]
}

/** An environment of its own: what others register with Handlebars does not reach these templates. */
function createHandlebars(): typeof Handlebars {
  const handlebars = Handlebars.create()
  // A code is read in groups: {{#each (groups code)}}.
  handlebars.registerHelper('groups', (text: unknown) => String(text).match(/.{1,3}/gsu) ?? [])
  return handlebars
}

async function compileFiles(handlebars: typeof Handlebars, path: string): Promise<Template | undefined> {
  try {
    const [subject, html, text] = await Promise.all(
      ['subject', 'html', 'text'].map((part) => readFile(`${path}.${part}`, 'utf8')),
    )
    const plain = { strict: true, noEscape: true }
    return {
      subject: handlebars.compile(subject, plain),
      html: handlebars.compile(html, { strict: true }),
      text: handlebars.compile(text, plain),
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function render(template: Template, name: string, variables: Readonly<Record<string, string>>): Rendered {
  try {
    return {
      // A subject is one line, whatever was inserted.
      subject: template
        .subject(variables)
        .replace(/[\p{Cc}\u2028\u2029]+/gu, ' ')
        .trim(),
      html: template.html(variables),
      text: template.text(variables),
    }
  } catch (error) {
    // Handlebars names the variable and the place, never a value.
    const reason = error instanceof Error ? error.message : String(error)
    throw new PermanentFailure(`The template ${name} cannot be rendered: ${reason}`, { cause: error })
  }
}
