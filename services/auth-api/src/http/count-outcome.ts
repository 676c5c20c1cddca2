import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { Counter, type Registry } from 'prom-client'

/** The end of an action: `refused` is the client's fault, `failed` is a fault of Latchkey or the database. */
export const OUTCOMES = ['succeeded', 'refused', 'limited', 'overloaded', 'failed'] as const
/** `challenged`: the login continues with a second factor. */
export type ActionOutcome = (typeof OUTCOMES)[number] | 'challenged'

/** Creates the function that counts actions of several kinds by their outcomes. */
export function createOutcomeCounter<const Kind extends string>(
  registry: Registry,
  kinds: readonly Kind[],
  { label, ...about }: { name: string; help: string; label: string },
) {
  const counter = new Counter({ ...about, labelNames: [label, 'outcome'], registers: [registry] })
  // Each series exists from the start, so that the first event is an increase.
  for (const kind of kinds) for (const outcome of OUTCOMES) counter.inc({ [label]: kind, outcome }, 0)
  return <Result>(kind: Kind, action: Promise<Result>): Promise<Result> =>
    countOutcome(action, (outcome) => counter.inc({ [label]: kind, outcome }))
}

/** Counts an action by its outcome, and passes on its result or error. */
export async function countOutcome<Result>(
  action: Promise<Result>,
  count: (outcome: ActionOutcome) => void,
): Promise<Result> {
  try {
    const result = await action
    count('succeeded')
    return result
  } catch (error) {
    count(outcomeOf(error))
    throw error
  }
}

function outcomeOf(error: unknown): ActionOutcome {
  if (!(error instanceof AppError) || error.code === 'unavailable') return 'failed'
  if (error.code === 'rate_limited') return 'limited'
  if (error.code === 'second_factor_required') return 'challenged'
  return error.code === 'overloaded' ? 'overloaded' : 'refused'
}
