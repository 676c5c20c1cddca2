import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { MAX_LENGTH } from '../users/user.ts'
import { explainFailure } from './explain-failure.ts'
import type { ExtensionRoutes } from './extension.ts'
import { ExtensionError } from './extension-error.ts'
import { ENTRY, type ExtensionFolder, findExtensions } from './find-extensions.ts'

export interface LoadedExtension extends ExtensionFolder {
  roles: readonly string[]
  /** Loads the plugin with its routes; undefined where it has none. Throws `ExtensionError`. */
  loadRoutes(): Promise<ExtensionRoutes | undefined>
}

const isFunction = (value: unknown): boolean => typeof value === 'function'

const Entry = z.strictObject(
  {
    roles: z
      .array(
        z.string().min(1).max(MAX_LENGTH.role),
        `must be an array of names of at most ${MAX_LENGTH.role} characters`,
      )
      .default([]),
    routes: z
      .custom<() => Promise<unknown>>(isFunction, 'must be a function that imports a module')
      .optional(),
  },
  {
    error: ({ code, keys }) =>
      code === 'unrecognized_keys'
        ? `${ENTRY} declares ${keys}, but an extension has roles and routes only`
        : `${ENTRY} must export defineExtension({ … }) as its default`,
  },
)
const RoutesModule = z.object({
  routes: z.custom<ExtensionRoutes>(isFunction, 'must be a function that is exported'),
})

/** Loads `extension.ts` of each extension, in the order of their names; throws `ExtensionError`. */
export const loadExtensions = (folders: readonly ExtensionFolder[] = findExtensions()) =>
  Promise.all(folders.map(loadExtension))

function loadExtension(folder: ExtensionFolder): Promise<LoadedExtension> {
  return explainFailure(folder, async () => {
    const module: { default?: unknown } = await import(pathToFileURL(join(folder.dir, ENTRY)).href)
    const { roles, routes } = parse(folder, Entry, module.default)
    return {
      ...folder,
      roles,
      loadRoutes: async () =>
        routes && explainFailure(folder, async () => parse(folder, RoutesModule, await routes()).routes),
    }
  })
}

function parse<Value>({ name }: ExtensionFolder, schema: z.ZodType<Value>, given: unknown): Value {
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) => [path.join('.'), message].join(' ').trim())
  throw new ExtensionError(name, faults.join('; '))
}
