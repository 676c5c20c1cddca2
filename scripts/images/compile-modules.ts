/*
 * Compiles all TypeScript modules of folders for NODE_COMPILE_CACHE, and runs none of them: a module that is loaded later than
 * at the start would load Node's TypeScript compiler.
 *
 *   NODE_COMPILE_CACHE=<folder> node --predictable scripts/images/compile-modules.ts <folder>…
 */
import { globSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const folders = process.argv.slice(2).map((folder) => `${folder}/**/*.ts`)
const files = globSync(folders, { exclude: (name) => name === 'node_modules' }).sort()

// A module that cannot be loaded, as of a package that this image does not have, keeps others from being compiled.
if (!(await compile(files))) for (const file of files) await compile([file])

/** False if a module cannot be loaded. node:fs has no such export, so that what is loaded is never evaluated. */
function compile(paths: string[]): Promise<boolean> {
  const imports = paths.map((path) => `import ${JSON.stringify(pathToFileURL(resolve(path)).href)}`)
  const source = [...imports, `import { notExported } from 'node:fs'`].join('\n')
  return import(`data:text/javascript,${encodeURIComponent(source)}`).catch((error: Error) =>
    error.message.includes('notExported'),
  )
}
