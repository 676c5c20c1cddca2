/** No further attempt can send the mail. The message is kept with the failed job, so it must not contain a variable. */
export class PermanentFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PermanentFailure'
  }
}
