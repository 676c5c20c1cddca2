// Keeps what Node compiles for the next start, which then takes a third of the time. `NODE_COMPILE_CACHE` goes first.
const { lstatSync, mkdirSync, realpathSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { dirname } = require('node:path')
const { xdgFolder } = require('./xdg-folder.cjs')

const OTHERS_WRITE = 0o002
const STICKY = 0o1000

const folder = xdgFolder(process.env, 'XDG_CACHE_HOME')
if (folder !== undefined && belongsToUser(folder) && belongsToUser(realpathSync(folder)))
  enableCompileCache(folder)

/**
 * Creates the folder, unless it is another user's. The cache is code that will run, for root under `sudo` as well: nobody
 * else may write to its folder, or replace a folder above it.
 * @param {string} path
 * @returns {boolean}
 */
function belongsToUser(path) {
  if (path !== dirname(path) && !belongsToUser(dirname(path))) return false
  try {
    const found = lstatOfFolder(path)
    const { uid, mode } = found
    const isOpen = !found.isSymbolicLink() && (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0
    return (uid === process.geteuid?.() || uid === 0) && !isOpen
  } catch {
    return false
  }
}

/** @param {string} path */
function lstatOfFolder(path) {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found) return found
  mkdirSync(path, { mode: 0o700 })
  return lstatSync(path)
}
