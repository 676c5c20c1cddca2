import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { promisify } from 'node:util'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { listFiles } from '@latchkey/test-support/list-files.ts'
import { findFormatFaults, parseEditorConfig } from './editor-config.ts'

// Checks what neither tsc nor Biome reads: PHP, shell, and the formatting of every file. Its argument may name another checkout.
const [ROOT = join(import.meta.dirname, '../..')] = process.argv.slice(2)
const STANDARD = join(import.meta.dirname, 'phpcs.xml')
/** Images, and what tools write. */
const NOT_WRITTEN = '{**/*.{png,webp},packages/client/types/openapi.d.ts,**/package-lock.json}'
/** PHP that does not parse, for tests of what is said of it. */
const BROKEN = 'services/scriptify/test/run/php/{broken.php,src/Broken.php}'

const files = listFiles(ROOT)
const php = files.filter((file) => file.endsWith('.php') && !matchesGlob(file, BROKEN))
const shell = files.filter((file) => file.endsWith('.sh') || file === '.ci/run')

interface Program {
  name: string
  /** The package of Debian that has it. */
  inPackage: string
  /** The arguments of each run. */
  runs: string[][]
}

const PROGRAMS: Program[] = [
  // Before PHP 8.3, `-l` takes one file.
  { name: 'php', inPackage: 'php-cli', runs: php.map((file) => ['-l', file]) },
  {
    name: 'phpcs',
    inPackage: 'php-codesniffer',
    runs: [[`--standard=${STANDARD}`, '--report=emacs', '--basepath=.', '-q', ...php]],
  },
  {
    name: 'shellcheck',
    inPackage: 'shellcheck',
    runs: [['--external-sources', '--source-path=SCRIPTDIR', '--format=gcc', ...shell]],
  },
]

const editorConfig = parseEditorConfig(readFileSync(join(ROOT, '.editorconfig'), 'utf8'))
const formatFaults = files
  .filter((file) => !matchesGlob(file, NOT_WRITTEN))
  .flatMap((file) => findFormatFaults(editorConfig, file, readFileSync(join(ROOT, file), 'utf8')))
const faults = [...formatFaults, ...(await Promise.all(PROGRAMS.map(findFaults))).flat()]
for (const fault of faults) console.error(fault)
process.exitCode = faults.length > 0 ? 1 : 0

/** Runs a program; where it is missing, says so, which is a fault under REQUIRE_PROGRAMS=1. */
async function findFaults({ name, inPackage, runs }: Program): Promise<string[]> {
  if (!isInstalled(name)) {
    const missing = `${name} is not installed, so its files are not checked: apt-get install ${inPackage}`
    if (process.env.REQUIRE_PROGRAMS === '1') return [missing]
    console.warn(missing)
    return []
  }
  const results = await Promise.all(
    runs.map((args) =>
      promisify(execFile)(name, args, { cwd: ROOT }).then(
        () => '',
        ({ stdout, stderr, message }) => `${stderr}${stdout}`.trim() || String(message),
      ),
    ),
  )
  return results.filter((result) => result !== '')
}
