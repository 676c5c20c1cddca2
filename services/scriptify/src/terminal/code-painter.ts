import type { Parser, Tree } from '@lezer/common'
import { highlightTree, tagHighlighter, tags } from '@lezer/highlight'
import type { RuntimeName } from '../classes/choose-runtime.ts'
import { styleText } from './style-text.ts'

type Paint = (text: string) => string

interface Span {
  from: number
  to: number
  paint: Paint
}

export interface CodeView {
  /** The lines of the statement that were entered before. */
  before: string
  /** The bracket beside the cursor and its counterpart are marked; undefined marks none. */
  cursor: number | undefined
}

/** Colours code of a statement that may be incomplete. A colour ends before each line break. */
export type PaintCode = (code: string, view: CodeView) => string

/** Longer code is not coloured: it is parsed at each key. */
const MAX_LENGTH = 4000

const CLASSES = tagHighlighter([
  { tag: tags.keyword, class: 'keyword' },
  { tag: [tags.string, tags.special(tags.string)], class: 'string' },
  { tag: [tags.number, tags.bool, tags.null], class: 'number' },
  { tag: tags.regexp, class: 'regexp' },
  { tag: tags.comment, class: 'comment' },
])

type Format = Parameters<typeof styleText>[0]
const painter =
  (format: Format): Paint =>
  (text) =>
    styleText(format, text, { validateStream: false })

/** The colours of util.inspect, as far as it has them. */
const COLORS: Record<string, Paint> = {
  keyword: painter('magenta'),
  string: painter('green'),
  number: painter('yellow'),
  regexp: painter('red'),
  comment: painter('gray'),
}
const MATCHED = painter(['cyan', 'bold', 'underline'])
const UNMATCHED = painter(['red', 'bold'])

/** Loads the grammar of a language. */
export async function loadCodePainter(runtime: RuntimeName): Promise<PaintCode> {
  const parser = await loadParser(runtime)
  return (code, { before, cursor }) => {
    const text = before + code
    if (code === '' || text.length > MAX_LENGTH) return code
    const tree = parser.parse(text)
    const at = cursor === undefined ? undefined : before.length + cursor
    return paint(text, before.length, [...tokenSpans(tree), ...bracketSpans(tree, at)])
  }
}

async function loadParser(runtime: RuntimeName): Promise<Parser> {
  if (runtime === 'php') return (await import('@lezer/php')).parser.configure({ top: 'Program' })
  return (await import('@lezer/javascript')).parser.configure({ dialect: 'ts' })
}

function tokenSpans(tree: Tree): Span[] {
  const spans: Span[] = []
  highlightTree(tree, CLASSES, (from, to, name) => {
    const paint = COLORS[name]
    if (paint !== undefined) spans.push({ from, to, paint })
  })
  return spans
}

const OPENING: Record<string, string> = {
  '(': ')',
  '[': ']',
  '#[': ']',
  '{': '}',
  '${': '}',
  InterpolationStart: 'InterpolationEnd',
}
const CLOSING = new Set(Object.values(OPENING))

/** Marks the pair of brackets beside the cursor, and every closing bracket that nothing opens. */
function bracketSpans(tree: Tree, cursor: number | undefined): Span[] {
  const { pairs, unmatched } = matchBrackets(tree)
  const beside =
    pairs.find((pair) => pair.some(({ to }) => to === cursor)) ??
    pairs.find((pair) => pair.some(({ from }) => from === cursor))
  return [
    ...unmatched.map((bracket) => ({ ...bracket, paint: UNMATCHED })),
    ...(beside ?? []).map((bracket) => ({ ...bracket, paint: MATCHED })),
  ]
}

type Bracket = Pick<Span, 'from' | 'to'>

function matchBrackets(tree: Tree): { pairs: Bracket[][]; unmatched: Bracket[] } {
  const open: (Bracket & { closing: string })[] = []
  const pairs: Bracket[][] = []
  const unmatched: Bracket[] = []
  tree.iterate({
    enter({ name, from, to }) {
      const closing = Object.hasOwn(OPENING, name) ? OPENING[name] : undefined
      if (closing !== undefined) open.push({ from, to, closing })
      else if (!CLOSING.has(name)) return
      else if (open.at(-1)?.closing !== name) unmatched.push({ from, to })
      else pairs.push([open.pop() ?? { from, to }, { from, to }])
    },
  })
  return { pairs, unmatched }
}

function paint(text: string, start: number, spans: Span[]): string {
  let painted = ''
  let end = start
  for (const { from, to, paint } of spans.toSorted((a, b) => a.from - b.from)) {
    if (from < end && to <= end) continue
    const begin = Math.max(from, end)
    painted += text.slice(end, begin)
    painted += text
      .slice(begin, to)
      .split('\n')
      .map((line) => (line === '' ? '' : paint(line)))
      .join('\n')
    end = to
  }
  return painted + text.slice(end)
}
