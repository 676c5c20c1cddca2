/** What the front-end needs to know about a language; everything else goes through the worker's protocol. */
export interface TerminalRuntime {
  name: 'php' | 'node'
  /** Shown in the banner. */
  title: string
  /** The preload that is taken from rootdir when none is named. */
  preload: string
  /** Taken from rootdir when it is there. */
  autoloader?: string
  /** The program that evaluates, started with the protocol's socket as fd 3. */
  worker: WorkerCommand
}

export interface WorkerCommand {
  file: string
  args: string[]
  /** A worker that cannot see Ctrl-C while it computes is told through fd 4. */
  hasInterruptPipe: boolean
}
