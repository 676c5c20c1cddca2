import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CliError, EXIT } from './io/cli-error.ts'
import { propertyOf } from './io/json-object.ts'

/**
 * A setting of the project: of `scriptify.config.json`, else of `scriptify` in package.json. Undefined where neither has
 * it; throws a CliError (2) for a file that is not JSON, and for a value that `isValid` refuses.
 */
export function readProjectSetting<Value>(
  rootdir: string,
  name: string,
  { isValid, rule }: { isValid(value: unknown): value is Value; rule: string },
): Value | undefined {
  const own = join(rootdir, 'scriptify.config.json')
  const manifest = join(rootdir, 'package.json')
  for (const [path, read] of [
    [own, () => propertyOf(readJson(own), name)],
    [manifest, () => propertyOf(propertyOf(readJson(manifest), 'scriptify'), name)],
  ] as const) {
    const value = read()
    if (value === undefined) continue
    if (isValid(value)) return value
    throw unusable(path, `${name} must ${rule}`)
  }
  return undefined
}

/** Reads a file of JSON; returns undefined where there is none. */
function readJson(path: string): unknown {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) return undefined
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (cause) {
    throw unusable(path, String(cause))
  }
}

const unusable = (path: string, what: string): CliError =>
  new CliError(`${path} cannot be used: ${what}`, EXIT.usage)
