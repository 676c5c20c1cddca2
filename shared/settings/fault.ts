/** The fault of a value: a predicate of the setting's name, and what to do where the example does not say it. */
export interface Fault {
  readonly message: string
  readonly remedy?: string
}
