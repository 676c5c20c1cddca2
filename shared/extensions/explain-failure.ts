import { relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorMessage } from '../errors/app-error.ts'
import { ExtensionError, type ExtensionFolder } from './find-extensions.ts'

/** Runs code of an extension; a failure becomes an `ExtensionError` that also says where in its folder it happened. */
export async function explainFailure<Result>(
  { name, dir }: ExtensionFolder,
  run: () => Promise<Result>,
): Promise<Result> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof ExtensionError) throw error
    const place = error instanceof Error ? findPlace(error.stack ?? '', dir) : undefined
    throw new ExtensionError(name, `${errorMessage(error)}${place ? ` (${place})` : ''}`, { cause: error })
  }
}

/** The first line of the extension in a stack, such as `routes.ts:12`. */
function findPlace(stack: string, dir: string): string | undefined {
  const places = stack.match(/file:\/\/[^\s)]+?:\d+|\/[^\s()]+?:\d+/g) ?? []
  const place = places.map(toPath).find((path) => path.startsWith(dir + sep))
  return place && relative(dir, place)
}

const toPath = (place: string): string => (place.startsWith('file:') ? fileURLToPath(place) : place)
