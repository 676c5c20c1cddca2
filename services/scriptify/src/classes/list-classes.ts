import { readFile } from 'node:fs/promises'
import { listClassFiles as listNodeClasses } from './node/find-module.ts'
import { listClassFiles as listPhpClasses } from './php/list-class-files.ts'

export interface ListedClass {
  readonly name: string
  /** The first line of the comment above the class. */
  readonly summary: string
}

const COMMENT = String.raw`(?:\/\*\*((?:[^*]|\*(?!\/))*)\*\/\s*)?`
const MODIFIERS = String.raw`^[ \t]*(?:(?:export|default|abstract|final|readonly) +)*`

/**
 * The classes of a project by the names of their files, from `scriptify.namespaces` and Composer's psr-4. Runs none of the
 * project's code.
 */
export async function listProjectClasses(rootdir: string): Promise<ListedClass[]> {
  const files = [...listNodeClasses(rootdir), ...listPhpClasses(rootdir)]
  const classes = await Promise.all(
    files.map(async ({ name, file }) => {
      const [found, comment = ''] = declarationOf(name).exec(await readFile(file, 'utf8')) ?? []
      return found === undefined ? [] : [{ name, summary: firstLine(comment) }]
    }),
  )
  return classes.flat().sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)))
}

/** Matches the declaration of the class that a file is named after, with its comment; the file may have other classes. */
const declarationOf = (name: string): RegExp =>
  new RegExp(String.raw`${COMMENT}${MODIFIERS}class +${name.split('\\').at(-1)}\b`, 'm')

const firstLine = (comment: string): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\*?\s*/, '').trim())
    .find((line) => line !== '') ?? ''
