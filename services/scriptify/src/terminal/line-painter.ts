import type { RuntimeName } from '../classes/choose-runtime.ts'
import type { PaintCode } from './code-painter.ts'
import { isDotCommand } from './dot-command-line.ts'
import { hasColors, isDumb } from './has-colors.ts'
import type { PaintLine } from './painted-line.ts'

interface LinePainterOptions {
  runtime: RuntimeName
  /** The lines of the statement that were entered before. */
  before(): string
  /** Runs when lines can be painted from now on. */
  onLoaded(): void
}

/** Paints the typed line; undefined on a terminal without colours. The grammar is loaded at the first key. */
export function createLinePainter({ runtime, before, onLoaded }: LinePainterOptions): PaintLine | undefined {
  if (isDumb() || !hasColors(process.stdout)) return undefined
  let paintCode: PaintCode | undefined
  let isLoading = false
  const load = async () => {
    isLoading = true
    const { loadCodePainter } = await import('./code-painter.ts')
    paintCode = await loadCodePainter(runtime)
    onLoaded()
  }
  return (line, cursor) => {
    if (line !== '' && !isLoading) void load()
    const lines = before()
    if (paintCode === undefined || (lines === '' && isDotCommand(line))) return line
    return paintCode(line, { before: lines, cursor })
  }
}
