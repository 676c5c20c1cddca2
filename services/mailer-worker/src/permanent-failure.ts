/** A mail that no further attempt can send. The message is kept with the failed job: it names no variable's value. */
export class PermanentFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PermanentFailure'
  }
}
