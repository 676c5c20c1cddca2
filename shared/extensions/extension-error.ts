/** Why an extension cannot be used, in one line that names it. */
export class ExtensionError extends Error {
  constructor(extension: string, reason: string, options?: ErrorOptions) {
    super(`The extension ${extension} cannot be used: ${reason.replaceAll(/\s*\n\s*/g, ' ')}`, options)
    this.name = 'ExtensionError'
  }
}
