interface StartUp {
  /** Options that those of the URL override. */
  defaults?: string
  /** Options that override those of the URL. */
  fixed: string
}

/**
 * Returns the URL and the start-up options of a connection. `pg` would let the options of a URL replace all others; of
 * options that occur twice, PostgreSQL takes the last.
 */
export function withStartUp(
  url: string,
  { defaults = '', fixed }: StartUp,
): { connectionString: string; options: string } {
  const connection = new URL(url)
  const ofUrl = connection.searchParams.get('options') ?? ''
  connection.searchParams.delete('options')
  return { connectionString: connection.href, options: `${defaults} ${ofUrl} ${fixed}`.trim() }
}

/** SQL for whether the server refuses every change, as a replica does. */
export const IS_READ_ONLY = "current_setting('transaction_read_only') = 'on'"

/** SQL for whether a client of pg speaks to the server itself: a pooler gives its clients other process ids. */
export const isDirect = (client: object): string =>
  `pg_backend_pid() = ${Number(Reflect.get(client, 'processID'))}`
