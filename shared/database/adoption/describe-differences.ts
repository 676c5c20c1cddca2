import type { Difference } from './difference.ts'

/** Each difference with what it causes, the rows that cause it and the SQL that removes it. */
export const describeDifferences = (differences: readonly Difference[]): string =>
  differences.map(describeDifference).join('\n')

function describeDifference({ subject, fault, consequence, examples, sql }: Difference): string {
  const listed = examples
    ? [`${subject} ${fault}:`, ...examples.map((each) => `  ${each}`)]
    : [`${subject} ${fault}`]
  const lines = [...listed, `  ${consequence}`, ...(sql?.split('\n').map((line) => `  ${line}`) ?? [])]
  return lines.join('\n')
}

const ADOPT = 'npm run migrate -- up --adopt'

/** Why a migration does not start. `blocking` is what stops it. */
export function describeRefusal(blocking: readonly Difference[]): string {
  const byHand = blocking.filter(({ isSafe }) => !isSafe)
  const remedy =
    byHand.length > 0
      ? 'Change this by hand first.'
      : `\`${ADOPT}\` runs this SQL; with --dry-run it prints what it would do.`
  const shown = byHand.length > 0 ? byHand : blocking
  return `The database cannot be used as it is, and nothing was changed. ${remedy}\n${describeDifferences(shown)}`
}

/** Why no service starts, in one line. */
export const describeSharedAccounts = (shared: readonly Difference[]): string =>
  `Two accounts of this database could share a name, so nothing starts on it: ${shared
    .map(({ subject, fault }) => `${subject} ${fault}`)
    .join('; ')}. \`npm run migrate -- status\` shows what to do.`

/** What `up --adopt` would do, as SQL text. */
export function describePlan(fixes: readonly Difference[], pending: readonly string[]): string {
  const statements = fixes.map(({ subject, fault, sql }) => `-- ${subject} ${fault}\n${sql}`)
  const migrations = pending.map((name) => `-- then the migration ${name}`)
  return [...statements, ...migrations].join('\n')
}
