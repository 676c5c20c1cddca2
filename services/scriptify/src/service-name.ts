const SERVICE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * Tells whether a name is safe in every place it ends up: a path under /etc, a unit, a shell script.
 * Dots are out because cron ignores such files silently, slashes because they leave the directory.
 */
export function isServiceName(name: string): boolean {
  return SERVICE_NAME.test(name)
}
