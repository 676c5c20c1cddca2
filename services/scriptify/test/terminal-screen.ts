import xterm from '@xterm/headless'
import type { Typist } from './terminal-pty.ts'

/** The screen of a typist's terminal as a person sees it, cell by cell. */
export interface Screen {
  /** The rows with text, without the spaces at their ends. */
  rows(): string[]
  /** The row and column of the cursor, from 0. */
  cursor(): { x: number; y: number }
  /** The texts that are shown in a colour of the palette (1 red, 2 green, 3 yellow, 5 magenta, 6 cyan, 8 gray). */
  inColor(color: number): string[]
  resize(cols: number, rows: number): void
}

/** Shows on a screen all that the program writes from now on. */
export function watchScreen({ pty }: Typist): Screen {
  const terminal = new xterm.Terminal({ cols: pty.cols, rows: pty.rows, allowProposedApi: true })
  pty.onData((data) => terminal.write(data))
  // A terminal answers what it is asked, such as where the cursor is.
  terminal.onData((answer) => pty.write(answer))
  const { active } = terminal.buffer
  const lines = () => Array.from({ length: active.length }, (_, index) => active.getLine(index))
  return {
    rows: () =>
      lines()
        .map((line) => line?.translateToString(true) ?? '')
        .join('\n')
        .trimEnd()
        .split('\n'),
    cursor: () => ({ x: active.cursorX, y: active.baseY + active.cursorY }),
    inColor(color) {
      const runs = lines().flatMap((line) => {
        const cells = Array.from({ length: terminal.cols }, (_, x) => line?.getCell(x))
        const text = cells.map((cell) =>
          cell?.isFgPalette() && cell.getFgColor() === color ? cell.getChars() : '\0',
        )
        return text.join('').split(/\0+/)
      })
      return runs.filter((run) => run !== '')
    },
    resize(cols, rows) {
      pty.resize(cols, rows)
      terminal.resize(cols, rows)
    },
  }
}
