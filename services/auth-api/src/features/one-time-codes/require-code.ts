import type { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { CodeRepository, StoredCode } from '@latchkey/shared/users/code-repository.ts'
import type { CodeSecrets } from './code-secrets.ts'

export interface RequireCodeDependencies<Code> {
  codes: Pick<CodeRepository<Code>, 'find' | 'countAttempt'>
  secrets: Pick<CodeSecrets, 'isHashOf'>
  /** True where the id, which only the link of the mail contains, is taken for the token. */
  takesId?: boolean
  /** Number of codes that may be tried. */
  attempts: number
  /**
   * Creates the one error for every fault: the reason would only help an attacker. It gets the row that a code was tried for, where
   * one was found.
   */
  refusal: (stored?: Code) => AppError
  sharedNow: Clock
}

export interface GivenCode {
  /** The code of the mail: six digits. */
  code: string
  /** The token of the request, or of the link. Without it the newest code is checked. */
  token?: string | undefined
}

/**
 * Counts an attempt at a mailed code, and returns its row. Throws what `refusal` creates unless the code is right. The caller
 * then marks the row as used.
 */
export async function requireCode<Code extends StoredCode & { tokenHash?: string }>(
  { codes, secrets, takesId = false, attempts, refusal, sharedNow }: RequireCodeDependencies<Code>,
  key: string,
  { code, token }: GivenCode,
): Promise<Code> {
  const found = await codes.find(key)
  const stored = found.find(
    ({ id, tokenHash = '' }) =>
      token === undefined || (takesId && token === id) || secrets.isHashOf(tokenHash, id, token),
  )
  if (!stored) throw refusal()
  // The database counts before the code is compared, so that concurrent guesses cannot exceed `attempts`.
  if (!(await codes.countAttempt(stored.id, attempts, new Date(sharedNow())))) throw refusal(stored)
  if (!secrets.isHashOf(stored.codeHash, stored.id, code)) throw refusal(stored)
  return stored
}
