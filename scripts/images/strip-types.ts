/*
 * Removes the types from TypeScript files, in place. Lines and columns stay as they are.
 *
 *   node scripts/images/strip-types.ts <folder>…
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'

for (const folder of process.argv.slice(2))
  for (const file of globSync(`${folder}/**/*.ts`, { exclude: (name) => name === 'node_modules' }))
    writeFileSync(file, stripTypeScriptTypes(readFileSync(file, 'utf8')))
