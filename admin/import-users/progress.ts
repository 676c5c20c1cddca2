import { Presets, SingleBar } from 'cli-progress'

export interface Progress {
  /** Moves the bar to a line of the file. */
  moveTo(line: number, counts: { imported: number; refused: number }): void
  /** Shows a line above the bar. */
  show(line: string): void
  close(): void
}

/** Shows a bar on standard error if that is a terminal, else only the lines. */
export function openProgress(lineCount: number): Progress {
  const stream = process.stderr
  if (!stream.isTTY) {
    return { moveTo: () => undefined, show: (line) => void stream.write(`${line}\n`), close: () => undefined }
  }
  const bar = new SingleBar(
    {
      stream,
      format: '{bar} {percentage} % · {imported} imported · {refused} refused · {eta_formatted} left',
      // Its own handler for Ctrl-C would replace the one of scriptify.
      gracefulExit: false,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  )
  bar.start(lineCount, 0, { imported: 0, refused: 0 })
  return {
    moveTo: (line, counts) => bar.update(line, counts),
    // The bar is drawn again below the line at its next update.
    show: (line) => void stream.write(`\r\u001b[K${line}\n`),
    close: () => bar.stop(),
  }
}
