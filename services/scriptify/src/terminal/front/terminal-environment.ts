import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { CliError, EXIT, errorCode } from '../../io/cli-error.ts'
import { parseEnvEntries } from '../../io/env-entries.ts'
import { parseEnvFile, requireReadableEnvFile } from '../../services/env-file.ts'
import { environmentFile } from '../../services/paths.ts'
import { isServiceName, requireServiceName } from '../../services/service-name.ts'

/** The named service's stored environment, overridden by --env entries. Throws a CliError for an invalid or unknown service or entry. */
export async function readTerminalEnvironment(
  service: string | undefined,
  entries: string[],
): Promise<Record<string, string>> {
  const given = parseEnvEntries(entries)
  return { ...(service === undefined ? {} : await readServiceEnvironment(service)), ...given }
}

async function readServiceEnvironment(service: string): Promise<Record<string, string>> {
  if (!isServiceName(service) && existsSync(service))
    throw new CliError(
      `${service} is a file, and terminal takes a service: run it by scriptify terminal < ${service}`,
      EXIT.usage,
    )
  requireServiceName(service)
  const path = environmentFile(service)
  try {
    const text = await readFile(path, 'utf8')
    requireReadableEnvFile(text, path)
    return parseEnvFile(text)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT')
      throw new CliError(`The service ${service} has no environment (${path})`, EXIT.notFound)
    if (code === 'EACCES') throw new CliError(`${path} is readable by root only: use sudo`, EXIT.notPermitted)
    throw error
  }
}
