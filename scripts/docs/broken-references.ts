import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { listFiles } from '@latchkey/test-support/list-files.ts'
import { anchorOf } from './markdown.ts'

/** Folders and files of the root that a page may name in its text. */
const NAMED_FILE =
  /`((?:admin|config|deploy|docs|extensions|packages|scripts|services|shared|templates|test-support)\/[\w./-]+\.\w+)`/g
/** A module of a package of Latchkey, in text or code. */
const NAMED_MODULE = /@latchkey\/([a-z-]+\/[\w./-]+\.ts)/g
/** The folders that contain the packages. */
const PACKAGE_FOLDERS = ['', 'services', 'shared', 'packages']
const LINK = /!?\[[^\]]*\]\(([^)\s]+)\)/g
/** A page of the documentation that code or configuration names. */
const NAMED_PAGE = /\bdocs\/[\w./-]+\.md\b/g
const TEXT_FILE = /\.(?:ts|php|json|ya?ml|env|sh|md)$|^Dockerfile$|^\.(?:env|gitignore)$/
/** Files that do not exist before a reader creates them; the numbers of Latchkey's migrations are below 1000. */
const CREATED_BY_READER = /^config\/(?:\w+|<\w+>)\/(?:credentials\.env|external\.ts)$|\/1000_/
const CREATED_ON_PAGE = /Create `([^`]+)`/g

/** Every page: the Markdown files of the repository, relative to `root`. */
export const findPages = (root: string): string[] => listFiles(root).filter((path) => path.endsWith('.md'))

/** One line for each link, anchor or file name of `page` that leads nowhere. */
export function findBrokenReferences(root: string, page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8')
  const prose = withoutCodeBlocks(text)
  const links = matchesOf(prose, LINK).filter((target) => !/^[a-z]+:/.test(target))
  const created = matchesOf(prose, CREATED_ON_PAGE)
  const files = matchesOf(prose, NAMED_FILE).filter((path) => !created.includes(path))
  return [
    ...links.filter((target) => !resolves(root, page, target)),
    ...matchesOf(text, NAMED_MODULE).filter((module) => !isModule(root, module)),
    ...files.filter((path) => !CREATED_BY_READER.test(path) && !existsSync(join(root, path))),
  ].map((target) => `${page}: ${target}`)
}

/** One line for each page that a file names and that does not exist. */
export const findMissingPages = (root: string): string[] =>
  listFiles(root)
    .filter((path) => TEXT_FILE.test(path.split('/').at(-1) ?? ''))
    .flatMap((path) =>
      (readFileSync(join(root, path), 'utf8').match(NAMED_PAGE) ?? [])
        .filter((page) => !existsSync(join(root, page)))
        .map((page) => `${path}: ${page}`),
    )

function resolves(root: string, page: string, target: string): boolean {
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : normalize(join(dirname(page), path))
  if (!existsSync(join(root, file))) return false
  return anchor === undefined || anchorsOf(join(root, file)).has(anchor)
}

const isModule = (root: string, module: string): boolean =>
  PACKAGE_FOLDERS.some((folder) => existsSync(join(root, folder, module)))

function anchorsOf(file: string): Set<string> {
  const headings = matchesOf(withoutCodeBlocks(readFileSync(file, 'utf8')), /^#+ (.+)$/gm)
  return new Set(headings.map(anchorOf))
}

const withoutCodeBlocks = (text: string): string => text.replaceAll(/^ *```[\s\S]*?^ *```/gm, '')

const matchesOf = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, match = '']) => match)
