/** One line of a table: the host, and its figures by the head of their column. */
export type Line = { host: string } & Readonly<Record<string, unknown>>
