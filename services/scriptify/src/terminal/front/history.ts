import { hash } from 'node:crypto'
import {
  accessSync,
  appendFileSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { xdgFolder } from '../../../bin/xdg-folder.cjs'

const MAX_ENTRIES = 10_000
const NAME = '(pass(word|wd)?|pwd|secret|token|api[-_]?key|credentials?)'
/** Text that contains a secret is not written to disk. */
const SECRETS = [
  // The value of a name, and any argument of a function whose name says it.
  new RegExp(`${NAME}\\w*['"\\]]*\\s*(=>?|:|,)\\s*['"\`]`, 'i'),
  new RegExp(`${NAME}\\w*\\s*\\([^)]*['"\`]`, 'i'),
  /\b(auth(enticate)?|log_?in|sign_?in)\s*\([^)]*,\s*['"`]/i,
  /\b(new\s+\\?(PDO|mysqli)|(mysqli|ldap|ftp|ssh2)_\w+)\s*\([^,]*,[^,]*,\s*['"`]/i,
  /:\/\/[^\s:@/]*:[^\s@/]+@/,
  // In a query string, a data source name, a variable of the environment.
  new RegExp(`[?&;:]${NAME}=[^\\s'"\`]|['"\`][^'"\`]*${NAME}=[^\\s'"\`]`, 'i'),
  // In SQL.
  /\b(password|identified\s+by)\s+['"]/i,
  // In a header.
  /\bauthorization\b['"\]]*\s*(=>?|:|,)\s*['"`]?\w/i,
  /\bbearer\s+[\w.~+/-]{8}/i,
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /\beyJ[\w-]{10,}\./,
  // By their beginning: Stripe, AWS, GitHub, GitLab, Slack, Google, npm.
  /\b[srp]k_(live|test)_\w{8}|\b(AKIA|ASIA)[A-Z0-9]{16}\b|\bgh[opsur]_\w{20}|\bgithub_pat_\w{20}/,
  /\bglpat-[\w-]{15}|\bxox[abeprs]-[\w-]{10}|\bAIza[\w-]{30}|\bnpm_\w{30}/,
]

export interface History {
  /** Whole statements, the newest first, as readline wants them. */
  entries: string[]
  /** The reason why the next session will not have these entries; undefined if it will. */
  problem: string | undefined
  /** Adds a statement, unless it begins with a space or contains a secret; tells whether it did. */
  add(statement: string): boolean
}

/** The history file of a project, one for each root directory and runtime; undefined for a user without a home. */
export function historyPath(env: NodeJS.ProcessEnv, rootdir: string, runtime: string): string | undefined {
  const folder = xdgFolder(env, 'XDG_STATE_HOME')
  if (folder === undefined) return undefined
  const project = hash('sha256', rootdir).slice(0, 16)
  return join(folder, `history-${project}-${runtime}.jsonl`)
}

/** Opens the history file; without a path the history lasts as long as the session. */
export function openHistory(path: string | undefined): History {
  const lines = path === undefined ? [] : readLines(path)
  if (path !== undefined && lines.length > MAX_ENTRIES * 1.2) rewrite(path, lines.slice(-MAX_ENTRIES))
  const entries = lines.slice(-MAX_ENTRIES).flatMap(parseEntry).reverse()
  return {
    entries,
    problem: path === undefined ? undefined : describeProblem(path),
    add(statement) {
      if (
        /^\s/.test(statement) ||
        statement.trim() === '' ||
        SECRETS.some((secret) => secret.test(statement))
      )
        return false
      if (entries[0] === statement) return true
      entries.unshift(statement)
      // A single append: parallel sessions do not interleave their lines.
      if (path !== undefined)
        tryTo(() => appendFileSync(path, `${JSON.stringify(statement)}\n`, { mode: 0o600 }))
      return true
    },
  }
}

function readLines(path: string): string[] {
  tryTo(() => createFolder(dirname(path)))
  try {
    const text = readFileSync(path, 'utf8')
    // A write that a full disk has cut must not take the next entry with it.
    if (text !== '' && !text.endsWith('\n')) tryTo(() => appendFileSync(path, '\n'))
    return text.split('\n').filter(Boolean)
  } catch {
    return []
  }
}

/** Says why the history cannot be kept there, for example in a file that root created by `sudo -E`. */
function describeProblem(path: string): string | undefined {
  try {
    accessSync(existsSync(path) ? path : dirname(path), constants.R_OK | constants.W_OK)
    return undefined
  } catch {
    return `The history is not kept: ${path} cannot be read and written`
  }
}

/** Creates a folder and its parents. mkdir's `recursive` would never return for a folder below /proc. */
function createFolder(folder: string): void {
  if (existsSync(folder)) return
  createFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}

function rewrite(path: string, lines: string[]): void {
  tryTo(() => {
    writeFileSync(`${path}.${process.pid}`, `${lines.join('\n')}\n`, { mode: 0o600 })
    renameSync(`${path}.${process.pid}`, path)
  })
}

function parseEntry(line: string): string[] {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'string' ? [entry] : []
  } catch {
    return []
  }
}

/** The terminal works without a writable home. */
function tryTo(write: () => void): void {
  try {
    write()
  } catch {
    // The history is not kept.
  }
}
