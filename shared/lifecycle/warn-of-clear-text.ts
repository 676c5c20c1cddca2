import { isClearText, tlsModeOf } from '../settings/clear-text.ts'
import { hostsOf } from '../settings/setting.ts'
import { hasDemoUsers } from '../users/demo-users.ts'

interface ClearText {
  environment: string
  /** The addresses of servers, by the setting that has them. */
  urls: Readonly<Record<string, string>>
  logger: { warn(details: object, message: string): void }
}

/** Logs a warning for each server that staging or prod reaches over a network without TLS, or without verifying it. */
export function warnOfClearText({ environment, urls, logger }: ClearText): void {
  if (hasDemoUsers(environment)) return
  for (const [setting, url] of Object.entries(urls)) {
    const details = { setting, host: hostsOf(url) }
    if (isClearText(url))
      logger.warn(details, `${setting} has no TLS, so passwords and users' data cross the network in clear`)
    else if (tlsModeOf(url) === 'require')
      logger.warn(details, `${setting} does not verify the server; write sslmode=verify-full`)
  }
}
