/** A problem type of an extension (RFC 9457 §3.1). Name it among the `problems` of each route that answers with it. */
export interface ProblemType {
  /** Begins with the name of the extension: `notes-full` of `notes` is `urn:latchkey:problem:notes-full`. */
  readonly name: string
  /** A status from 400 to 499. */
  readonly status: number
  /** The same for every problem of the type. */
  readonly title: string
}

/** A refusal of an extension, with a message for the caller. Its cause is for the log only. */
export class ProblemError extends Error {
  readonly type: ProblemType
  /** Extension members of the problem (RFC 9457 §3.2). */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    type: ProblemType,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, { cause: options.cause })
    this.name = 'ProblemError'
    this.type = type
    this.details = options.details ?? {}
  }
}

/** Throws when a problem type cannot belong to the extension `owner`. */
export function requireProblemType(owner: string, { name, status, title }: ProblemType): void {
  const suffix = name.startsWith(`${owner}-`) ? name.slice(owner.length + 1) : ''
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(suffix))
    throw new Error(
      `the problem ${JSON.stringify(name)} must be named ${owner}-…, in lower-case letters, digits and dashes`,
    )
  if (!Number.isInteger(status) || status < 400 || status > 499)
    throw new Error(`the problem ${name} has the status ${status}; it must be from 400 to 499`)
  if (!title) throw new Error(`the problem ${name} has no title`)
}
