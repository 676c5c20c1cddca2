import xterm, { type IBufferCell, type IBufferLine } from '@xterm/headless'

/** A colour and its weight, as attributes of an SVG element; empty for plain text. */
type Style = string

interface Run {
  column: number
  text: string
  style: Style
}

const CELL = { width: 8.4, height: 20, fontSize: 14 }
const MARGIN = 16
/** Dark in every colour scheme, so that one picture is legible on a light and on a dark page. */
const BACKGROUND = '#1b1f24'
const FOREGROUND = '#e6e8eb'
/** The eight colours of a terminal, then the bright ones; each has a contrast of at least 4.5 to the background. */
const PALETTE = [
  ...['#8b949e', '#ff8078', '#5fd07a', '#e3b341', '#79b8ff', '#d2a8ff', '#56d4dd', '#e6e8eb'],
  ...['#8b949e', '#ffa198', '#7ee787', '#f2cc60', '#a5d0ff', '#e2c5ff', '#8be9f0', '#ffffff'],
]

/** Draws what a terminal of this width shows after it has received `output`. */
export async function drawScreen(
  output: string,
  { columns, title }: { columns: number; title: string },
): Promise<string> {
  const rows = await readRows(output, columns)
  const width = Math.ceil(columns * CELL.width) + 2 * MARGIN
  const height = rows.length * CELL.height + 2 * MARGIN
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escapeXml(title)}</title>`,
    `<rect width="100%" height="100%" rx="8" fill="${BACKGROUND}"/>`,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="${CELL.fontSize}" fill="${FOREGROUND}">`,
    ...rows.map(drawRow),
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

/** The text of a picture, a line for each row. */
export const textOf = (svg: string): string =>
  svg
    .replace(/<title>.*<\/title>/, '')
    .replace(/<[^>]+>/g, '')
    .trim()

async function readRows(output: string, columns: number): Promise<Run[][]> {
  const terminal = new xterm.Terminal({ cols: columns, rows: 24, scrollback: 1_000, allowProposedApi: true })
  await new Promise<void>((resolve) => terminal.write(output, resolve))
  const buffer = terminal.buffer.active
  const rows = Array.from({ length: buffer.length }, (_, row) => readRuns(buffer.getLine(row)))
  terminal.dispose()
  return rows.slice(0, rows.findLastIndex((runs) => runs.length > 0) + 1)
}

/** Neighbours of one style are one run, with the spaces that follow: the runs of a row are its text, whatever their colours. */
function readRuns(line: IBufferLine | undefined): Run[] {
  const runs: Run[] = []
  for (let column = 0; column < (line?.length ?? 0); column++) {
    const cell = line?.getCell(column)
    if (cell === undefined || cell.getWidth() === 0) continue
    const text = cell.getChars() || ' '
    const last = runs.at(-1)
    if (last && (text === ' ' || last.style === styleOf(cell))) last.text += text
    else runs.push({ column, text, style: styleOf(cell) })
  }
  const last = runs.at(-1)
  if (last) last.text = last.text.trimEnd()
  return runs.filter(({ text }) => text !== '')
}

function styleOf(cell: IBufferCell): Style {
  const color = cell.isFgPalette() ? PALETTE[cell.getFgColor()] : undefined
  return [
    color && color !== FOREGROUND ? ` fill="${color}"` : '',
    cell.isBold() ? ' font-weight="bold"' : '',
    cell.isDim() ? ' opacity="0.7"' : '',
  ].join('')
}

/** Each run has its place and length in cells, whichever font the reader has. */
function drawRow(runs: readonly Run[], row: number): string {
  const y = MARGIN + (row + 0.75) * CELL.height
  return runs
    .map(({ column, text, style }) => {
      const x = (MARGIN + column * CELL.width).toFixed(1)
      const length = (text.length * CELL.width).toFixed(1)
      return `<text x="${x}" y="${y}" textLength="${length}" lengthAdjust="spacingAndGlyphs" xml:space="preserve"${style}>${escapeXml(text)}</text>`
    })
    .join('')
}

const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
