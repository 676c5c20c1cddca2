import type { Difference } from './adoption.ts'

/** Describes each difference: the rows that cause it, what it causes and the SQL that removes it. */
export const describeDifferences = (differences: readonly Difference[]): string =>
  differences.map(describeDifference).join('\n')

function describeDifference({ problem, consequence = '', examples = [], fix = '' }: Difference): string {
  const details = [...examples, consequence, ...fix.split('\n')].filter(Boolean)
  return [`${problem}${examples.length > 0 ? ':' : ''}`, ...details.map((line) => `  ${line}`)].join('\n')
}

/** Says why a migration does not start. */
export function describeRefusal(differences: readonly Difference[]): string {
  const byHand = differences.filter(({ fix }) => fix === undefined)
  const remedy =
    byHand.length > 0
      ? 'Change this by hand first.'
      : '`npm run migrate -- up --adopt` runs this SQL; with --dry-run it prints what it would do.'
  const shown = byHand.length > 0 ? byHand : differences
  return `The database cannot be used as it is, and nothing was changed. ${remedy}\n${describeDifferences(shown)}`
}

/** Says in one line why no service starts. */
export const describeSharedAccounts = (shared: readonly Difference[]): string =>
  `${shared.map(({ problem }) => problem).join('; ')}. Fix this before Latchkey uses this database, or two accounts can share a name: \`npm run migrate -- status\` shows how.`

/** Returns what `up --adopt` would do, as SQL text. */
export function describePlan(differences: readonly Difference[], pending: readonly string[]): string {
  const statements = differences.map(({ problem, fix }) => `-- ${problem}\n${fix}`)
  const migrations = pending.map((name) => `-- then the migration ${name}`)
  return [...statements, ...migrations].join('\n')
}
