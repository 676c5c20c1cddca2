/** A port or an address cannot be used. Its message says all that helps: it is logged without the calls that led to it. */
export class ListenError extends Error {}
