/** A table of GitHub's Markdown; a `|` in a cell is escaped. */
export function formatTable(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [columns, columns.map(() => '---'), ...rows.map((row) => row.map(escapeCell))]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

const escapeCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

export const code = (text: string): string => `\`${text}\``

/** The link target that GitHub gives a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, '')
    .replaceAll(' ', '-')

/** Replaces what is between `<!-- generated: name -->` and `<!-- end -->`; throws when the page has no such section. */
export function replaceSection(page: string, name: string, content: string): string {
  const begin = `<!-- generated: ${name} -->`
  const end = '<!-- end -->'
  const from = page.indexOf(begin)
  const to = page.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`The page has no section between "${begin}" and "${end}"`)
  return `${page.slice(0, from)}${begin}\n\n${content}\n\n${page.slice(to)}`
}
