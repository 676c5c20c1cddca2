import type { Interface } from 'node:readline'

/** Paints a line with the cursor at this index; undefined for a line that is done. */
export type PaintLine = (line: string, cursor: number | undefined) => string

export interface PaintedLine {
  /** Paints anew what a key has changed. */
  update(): void
  /** Paints the line without a cursor, as it remains on the screen. */
  finish(): void
  /** Nothing is painted until the next prompt. */
  pause(): void
}

/** Paints what readline shows. It has no option for it, but writes by methods that can be replaced, as for passwords. */
export function paintReadline(rl: Interface, paint: PaintLine): PaintedLine {
  const prototype = Object.getPrototypeOf(rl)
  let shown = ''
  let isActive = false
  let isDone = false
  const painted = () => paint(rl.line, isDone ? undefined : rl.cursor)
  const refresh = () => {
    isActive = true
    shown = painted()
    Reflect.set(rl, '_writeToOutput', replaceLines(rl.line.split('\n'), shown.split('\n')))
    try {
      Reflect.apply(prototype._refreshLine, rl, [])
    } finally {
      Reflect.deleteProperty(rl, '_writeToOutput')
    }
  }
  const update = () => {
    if (isActive && painted() !== shown) refresh()
  }
  Reflect.set(rl, '_refreshLine', refresh)
  Reflect.set(rl, '_insertString', (text: string) => {
    const before = shown
    Reflect.apply(prototype._insertString, rl, [text])
    // readline has shown the text at the end of the line, without a refresh.
    if (shown === before) shown += text
    update()
  })
  return {
    update,
    finish() {
      isDone = true
      update()
      isDone = false
    },
    pause() {
      isActive = false
      shown = ''
    },
  }
}

/** Writes a text that ends with the next line in the colours of that line. */
function replaceLines(plain: string[], painted: string[]) {
  let next = 0
  return (text: string): void => {
    const [line, colored] = [plain[next], painted[next]]
    if (line === undefined || colored === undefined || !text.endsWith(line)) {
      process.stdout.write(text)
      return
    }
    next += 1
    process.stdout.write(text.slice(0, text.length - line.length) + colored)
  }
}
