import { type ServiceTemplate, TEMPLATES } from './service.ts'

/** What the first lines of a file tell about its origin. */
export type Mark =
  | { readonly kind: 'own'; readonly name: string; readonly template: ServiceTemplate }
  /** Written by the original tool, whose files name it somewhere. */
  | { readonly kind: 'legacy' }

const OWN = /^# scriptify: managed service=(\S+) template=(\S+) v=\d+$/

/** The line that makes a file ours; it stands among the first three. */
export const ownershipMark = (name: string, template: ServiceTemplate): string =>
  `# scriptify: managed service=${name} template=${template} v=1`

/** Reads the mark of a file's text; undefined for a foreign file. */
export function readMark(text: string): Mark | undefined {
  for (const line of text.split('\n', 3)) {
    const [, name, written] = OWN.exec(line) ?? []
    const template = TEMPLATES.find((known) => known === written)
    if (name !== undefined && template !== undefined) return { kind: 'own', name, template }
  }
  return text.includes('PHP_SCRIPTIFY') ? { kind: 'legacy' } : undefined
}

/** The text below the mark that `readMark` finds, and above it. */
export const withoutMark = (text: string): string =>
  text
    .split('\n')
    .filter((line, index) => index > 2 || !OWN.test(line))
    .join('\n')
