import { isUtf8 } from 'node:buffer'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { findMisspelt } from '@latchkey/text/closest-name.ts'
import { type ExtensionFolder, findExtensions, settingPrefix } from '../extensions/find-extensions.ts'
import { SETTINGS } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
import type { Environment } from './setting.ts'
import { collectFaults, parseBoth, SettingsError } from './settings-error.ts'

/** The folder `config/` of this checkout or image. */
export const CONFIG_DIR: string = join(import.meta.dirname, '..', '..', 'config')

/**
 * The environment that a service runs with. Later sources win:
 * - `config/<APP_ENV>/settings.env` of each extension, which may only have names with its prefix
 * - `config/<APP_ENV>/settings.env`
 * - `credentials.env` beside it; not a fault when it is missing, since the process may have the secrets
 * - the file that `CREDENTIALS_FILE` names, for example a mounted secret; an `APP_ENV` in it must be that of the process
 * - the process environment
 *
 * Throws `SettingsError`.
 */
export function loadEnvironment(
  processEnvironment: NodeJS.ProcessEnv,
  configDir: string = CONFIG_DIR,
  extensions: readonly ExtensionFolder[] = findExtensions(),
): Environment {
  const { environment, faults } = readEnvironment(processEnvironment, configDir, extensions)
  requireNoFaults(faults)
  return environment
}

/**
 * The environment and what `parse` makes of it; throws one `SettingsError` with the faults of the files and of the
 * settings.
 */
export async function loadConfig<Config>(
  parse: (environment: Environment) => Config | Promise<Config>,
  processEnvironment: NodeJS.ProcessEnv,
): Promise<{ config: Config; environment: Environment }> {
  const { environment, faults } = readEnvironment(processEnvironment, CONFIG_DIR, findExtensions())
  const [, config] = await parseBoth(
    () => requireNoFaults(faults),
    () => parse(environment),
  )
  return { config, environment }
}

function requireNoFaults(faults: readonly string[]): void {
  if (faults.length > 0) throw new SettingsError(faults)
}

interface Read {
  environment: Environment
  faults: readonly string[]
}

function readEnvironment(
  processEnvironment: NodeJS.ProcessEnv,
  configDir: string,
  extensions: readonly ExtensionFolder[],
): Read {
  const given = Object.fromEntries(Object.entries(processEnvironment).filter(([, value]) => value !== ''))
  const { CREDENTIALS_FILE } = given
  const credentials: Read = CREDENTIALS_FILE
    ? readOwnFile(CREDENTIALS_FILE, 'CREDENTIALS_FILE')
    : { environment: {}, faults: [] }
  const { APP_ENV: owner = given.APP_ENV ?? 'dev' } = credentials.environment
  const { APP_ENV = owner } = given
  requireNoFaults(findEnvironmentFaults(APP_ENV, owner, configDir))
  const files = [
    ...extensions.map((extension) => readExtensionFile(extension, APP_ENV)),
    ...['settings.env', 'credentials.env'].map((file) =>
      readOwnFile(join(configDir, APP_ENV, file), `config/${APP_ENV}/${file}`, { isOptional: true }),
    ),
    credentials,
  ]
  return {
    environment: Object.assign({}, ...files.map((file) => file.environment), given, { APP_ENV }),
    faults: files.flatMap((file) => file.faults),
  }
}

/** Finds the faults of APP_ENV. They come first: with the wrong files, every other fault would mislead. */
function findEnvironmentFaults(name: string, owner: string, configDir: string): string[] {
  // Checked before it becomes part of a path.
  const faults = collectFaults(() => parseSettings(['APP_ENV'], { APP_ENV: name }))
  if (name !== owner)
    faults.push(
      `APP_ENV is ${name}, and the secrets in CREDENTIALS_FILE belong to ${owner}. Set APP_ENV=${owner}.`,
    )
  const isFolder = (entry: string) =>
    statSync(join(configDir, entry), { throwIfNoEntry: false })?.isDirectory()
  const known = readdirSync(configDir).filter(isFolder).toSorted()
  if (faults.length === 0 && !known.includes(name))
    faults.push(
      `APP_ENV is ${name}, and the folder config/${name} does not exist. Set it to one of ${known.join(', ')}.`,
    )
  return faults
}

function readExtensionFile({ name, dir }: ExtensionFolder, environment: string): Read {
  const path = join('config', environment, 'settings.env')
  const shownAs = `extensions/${name}/${path}`
  const read = readFile(join(dir, path), shownAs, { isOptional: true })
  const prefix = settingPrefix(name)
  const foreign = Object.keys(read.environment)
    .filter((given) => !given.startsWith(prefix))
    .map((given) => `${given} in ${shownAs} does not begin with ${prefix}.`)
  return { ...read, faults: [...read.faults, ...foreign] }
}

/** A file for names of Latchkey. */
function readOwnFile(...file: Parameters<typeof readFile>): Read {
  const [, shownAs] = file
  const read = readFile(...file)
  return { ...read, faults: [...read.faults, ...findNameFaults(read.environment, shownAs)] }
}

function readFile(path: string, shownAs: string, { isOptional = false } = {}): Read {
  try {
    const text = decodeUtf8(readFileSync(path))
    const fault = text === undefined ? NOT_UTF8 : /^[^\n]*\r[^\n]+$/.test(text) ? NO_LINE_FEEDS : undefined
    if (fault) return { environment: {}, faults: [`${shownAs} ${fault}`] }
    return { environment: parseEnv(text ?? ''), faults: [] }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
    const isAbsent = isOptional && code === 'ENOENT'
    return { environment: {}, faults: isAbsent ? [] : [`${shownAs} cannot be read (${code}).`] }
  }
}

const NOT_UTF8 = 'is not UTF-8 text. Save it as UTF-8.'
/** Node's parser would read one line. */
const NO_LINE_FEEDS = 'has carriage returns alone between its lines. Save it with line feeds.'

/** The text without a byte order mark, which would become part of the first name. */
function decodeUtf8(bytes: Buffer): string | undefined {
  return isUtf8(bytes) ? new TextDecoder().decode(bytes) : undefined
}

/** Shorter names have too many neighbours. */
const LONG_NAMES = Object.keys(SETTINGS).filter((name) => name.length >= 6)

/** What became of settings that are gone, for a file that still has them. */
const FORMER: Readonly<Record<string, string>> = {
  SESSIONS: 'every session is listed by /sessions now',
}

/** Describes each name in `source` that is almost the name of a setting, or was one. */
export const findNameFaults = (environment: Environment, source: string): string[] =>
  Object.keys(environment).flatMap((name) => {
    if (FORMER[name])
      return [`${name} in ${source} is no longer a setting: ${FORMER[name]}. Remove the line.`]
    const meant = findMisspelt(name, LONG_NAMES)
    return meant ? [`${name} in ${source} is not a setting. Did you mean ${meant}?`] : []
  })
