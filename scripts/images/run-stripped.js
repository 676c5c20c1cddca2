// Preloaded by the images, in which strip-types.ts has removed the types: Node would load its TypeScript compiler all the same.
// What a team adds to an image, config/external.ts and extensions, still has types.
import { getCompileCacheDir, registerHooks } from 'node:module'

const root = new URL('../../', import.meta.url).href
const FOLDERS = ['services/', 'shared/', 'admin/', 'scripts/'].map((folder) => root + folder)

const isStripped = (/** @type {string} */ url) =>
  url.endsWith('.ts') && FOLDERS.some((folder) => url.startsWith(folder))

// The compile cache of the image contains all modules; loading them through a hook takes longer. It has no directory for
// this process, and Node cannot create one, where the processor or the user is another than at the build.
if (!getCompileCacheDir())
  registerHooks({
    load: (url, context, nextLoad) =>
      nextLoad(url, isStripped(url) ? { ...context, format: 'module' } : context),
  })
