/** The page that a link opens, by what the user does there. Pages of others read these names too. */
export type LinkedPage = 'reset' | 'login' | 'signup' | 'email'

/** Returns the link of a mail; undefined where no page is configured. */
export type MailLink = (page: LinkedPage, values: Readonly<Record<string, string>>) => string | undefined

/**
 * Creates the links of mails. Their values stand in the fragment, which no server and no log receives, and the page only fills in
 * its form: a scanner that fetches the link uses nothing up.
 */
export const createMailLink =
  (url: string | undefined): MailLink =>
  (page, values) =>
    url && `${url}#${page}?${new URLSearchParams(values)}`
