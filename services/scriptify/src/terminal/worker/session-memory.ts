import type { Answer } from './protocol.ts'

/** The state of a session that is kept outside its worker, so that a new worker can continue it. */
export interface SessionMemory {
  /** Returns what a new worker receives. */
  carriedOver(): { declarations: string[]; snapshot: string | undefined }
  /** Notes what a statement declared and changed. */
  update(done: Pick<Answer<'done'>, 'declarations' | 'snapshot' | 'names'>): void
  /** Notes the variables of a worker that has started; gives those of the user that it lacks. */
  started(present: string[]): string[]
  /** Drops declarations and variables. */
  forget(): void
}

export function createSessionMemory(): SessionMemory {
  let declarations: string[] = []
  let snapshot: string | undefined
  let names: string[] = []
  /** The variables of a worker that received nothing: the preload's, which are not the user's to lose. */
  let preloaded = new Set<string>()
  return {
    carriedOver: () => ({ declarations, snapshot }),
    update(done) {
      const added = done.declarations ?? []
      declarations = [...declarations.filter((old) => !added.includes(old)), ...added]
      snapshot = done.snapshot ?? snapshot
      names = done.names ?? names
    },
    started(present) {
      const lost = names.filter((name) => !preloaded.has(name) && !present.includes(name))
      names = present
      if (declarations.length === 0 && snapshot === undefined) preloaded = new Set(present)
      return lost
    },
    forget() {
      declarations = []
      snapshot = undefined
      names = []
    },
  }
}
