import { Presets, SingleBar } from 'cli-progress'

export interface Progress {
  /** Moves to this many bytes of the file. */
  moveTo(bytes: number, counts: { imported: number; refused: number }): void
  /** Shows a line without the bar running through it. */
  show(line: string): void
  close(): void
}

/** A bar on standard error where that is a terminal; elsewhere nothing but the lines. */
export function openProgress(sizeBytes: number): Progress {
  const stream = process.stderr
  if (!stream.isTTY) {
    return { moveTo: () => undefined, show: (line) => void stream.write(`${line}\n`), close: () => undefined }
  }
  const bar = new SingleBar(
    {
      stream,
      format: '{bar} {percentage} % · {imported} imported · {refused} refused · {eta_formatted} left',
      // Its own way to end on Ctrl-C would stand between the runner and the signal.
      gracefulExit: false,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  )
  bar.start(sizeBytes, 0, { imported: 0, refused: 0 })
  return {
    moveTo: (bytes, counts) => bar.update(bytes, counts),
    // The bar is drawn again, below, at its next turn.
    show: (line) => void stream.write(`\r\u001b[K${line}\n`),
    close: () => bar.stop(),
  }
}
