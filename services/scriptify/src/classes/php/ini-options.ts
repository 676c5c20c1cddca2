/** What the project's code prints goes to stdout, php's own messages to stderr. */
const SETTINGS = ['display_errors=stderr', 'log_errors=0', 'html_errors=0']

/** php's options for our ini settings and these, each `name=value`. */
export const iniOptions = (settings: readonly string[]): string[] =>
  [...SETTINGS, ...settings].flatMap((setting) => ['-d', setting])
