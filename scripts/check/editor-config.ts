import { basename, matchesGlob } from 'node:path'

type Properties = Record<string, string>
interface Section {
  pattern: string
  properties: Properties
}

/** Parses an `.editorconfig`, as https://spec.editorconfig.org describes it. */
export function parseEditorConfig(text: string): Section[] {
  const sections: Section[] = []
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '' || /^[#;]/.test(line)) continue
    const [, pattern] = /^\[(.*)\]$/.exec(line) ?? []
    if (pattern !== undefined) sections.push({ pattern, properties: {} })
    const [key = '', value] = line.split('=').map((part) => part.trim().toLowerCase())
    const section = sections.at(-1)
    if (section && value !== undefined && pattern === undefined) section.properties[key] = value
  }
  return sections
}

/** Returns the lines of a file that break the rules of `.editorconfig`, each with its reason. */
export function findFormatFaults(sections: Section[], file: string, text: string): string[] {
  const rules = propertiesOf(sections, file)
  const faults: string[] = []
  const refuse = (line: number, reason: string) => faults.push(`${file}:${line} ${reason}`)
  const lines = text.split('\n')
  const indent = { space: /^ *\t/, tab: /^ / }[rules.indent_style ?? '']
  for (const [index, line] of lines.entries()) {
    if (rules.end_of_line === 'lf' && line.endsWith('\r')) refuse(index + 1, 'ends with a carriage return')
    if (rules.trim_trailing_whitespace === 'true' && /[ \t]$/.test(line))
      refuse(index + 1, 'ends with a blank')
    if (indent?.test(line)) refuse(index + 1, `is not indented by ${rules.indent_style}s`)
  }
  if (rules.insert_final_newline === 'true' && text !== '' && !text.endsWith('\n'))
    refuse(lines.length, 'does not end with a newline')
  return faults
}

/** A pattern without a slash is of a name, any other of a path; a later section wins. */
function propertiesOf(sections: Section[], file: string): Properties {
  // The letter before both lets `*` match a name that begins with a dot, as the specification wants it.
  const hasName = (pattern: string) => matchesGlob(`x${basename(file)}`, `x${pattern}`)
  const applies = ({ pattern }: Section) =>
    pattern.includes('/') ? matchesGlob(file, pattern) : hasName(pattern)
  return Object.assign({}, ...sections.filter(applies).map(({ properties }) => properties))
}
