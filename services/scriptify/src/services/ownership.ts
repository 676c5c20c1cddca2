import type { InitSystem } from './init-system.ts'

/** The facts that the first lines of a file of scriptify state about it. */
export interface Mark {
  readonly name: string
  readonly system: InitSystem
}

const OWN = /^# scriptify: managed service=(\S+) template=(\S+) v=\d+$/

/** The line that marks a file as scriptify's; it is among the first three. */
export const ownershipMark = (name: string, system: Pick<InitSystem, 'name'>): string =>
  `# scriptify: managed service=${name} template=${system.name} v=1`

/** Reads the mark of a file's text; undefined for a foreign file. */
export function readMark(text: string, systems: readonly InitSystem[]): Mark | undefined {
  for (const line of text.split('\n', 3)) {
    // An editor may have added a byte order mark, or carriage returns.
    const [, name, template] = OWN.exec(line.trim()) ?? []
    const system = systems.find((known) => known.name === template)
    if (name !== undefined && system !== undefined) return { name, system }
  }
  return undefined
}

/** True for the line that `readMark` reads. */
export const isMark = (line: string): boolean => OWN.test(line.trim())
