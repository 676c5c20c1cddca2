import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/error-message.ts'
import shareServers from '../services/test/servers/shared-servers.ts'
import { AREAS, type Area, matchesAny } from './mutation/areas.ts'
import { changedLines, previousCommit } from './mutation/changed-lines.ts'
import { SERVERS_URL } from './mutation/provide-servers.ts'
import {
  compareSurvivors,
  readSurvivors,
  type Survivor,
  scoreOf,
  type TestedMutant,
} from './mutation/survivors.ts'
import { testMutants } from './mutation/test-mutants.ts'

const USAGE = `npm run test:mutation -- [<area>...] [--changed] [--since <commit>]

Changes the code in one place at a time and runs the tests that reach that place. A mutant survives if they still pass.

  <area>            ${AREAS.map(({ name }) => name).join(', ')}; all by default
  --changed         only lines that have changed since the branch left main; on main, in its last ten commits
  --since <commit>  only lines that have changed since <commit>
`

/** The least share of mutants that the tests kill, in per cent. */
const THRESHOLD = 90
/** Of the changed lines. An area that began earlier is finished. */
const LAST_BEGIN_MINUTES = 4
/** Unlisted survivors, to be copied into the list with their reason. */
const UNLISTED_FILE = '.stryker-tmp/survivors.json'

const { areas, since } = readArguments()
const stopServers = await shareServers({
  provide(_name, url) {
    process.env[SERVERS_URL] = String(url)
  },
})
try {
  const mutants = since ? await testChanges(areas, since) : await testAll(areas)
  process.exitCode = report(mutants) ? 0 : 1
} finally {
  await stopServers()
}

function readArguments(): { areas: readonly Area[]; since: string | undefined } {
  const { values, positionals } = parseArguments()
  const unknown = positionals.find((name) => !AREAS.some((area) => area.name === name))
  if (unknown !== undefined) exitWithUsage(`Unknown area: ${unknown}`)
  return {
    areas: positionals.length === 0 ? AREAS : AREAS.filter(({ name }) => positionals.includes(name)),
    since: values.since ?? (values.changed ? previousCommit() : undefined),
  }
}

function parseArguments() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: { changed: { type: 'boolean' }, since: { type: 'string' } },
    })
  } catch (error) {
    return exitWithUsage(errorMessage(error))
  }
}

function exitWithUsage(message: string): never {
  process.stderr.write(`${message}\n\n${USAGE}`)
  process.exit(2)
}

async function testAll(areas: readonly Area[]): Promise<TestedMutant[]> {
  const tested: TestedMutant[] = []
  for (const area of areas) tested.push(...(await testArea(area)))
  return tested
}

async function testChanges(areas: readonly Area[], since: string): Promise<TestedMutant[]> {
  console.log(`Mutants in lines that have changed since ${since}:`)
  const begunUntil = Date.now() + LAST_BEGIN_MINUTES * 60_000
  const tested: TestedMutant[] = []
  for (const area of areas) {
    const { ranges, leftOut } = changedLines(area, since)
    if (ranges.length === 0) continue
    if (Date.now() > begunUntil) console.log(`${area.name}: left out, for lack of time`)
    else tested.push(...(await testArea(area, ranges)))
    if (leftOut > 0) console.log(`${area.name}: ${leftOut} changed lines left out`)
  }
  return tested
}

async function testArea(area: Area, ranges?: readonly string[]): Promise<TestedMutant[]> {
  const mutants = await testMutants(area, ranges)
  console.log(`${area.name}: ${describeScore(mutants)}`)
  return mutants
}

/** True unless an area whose survivors are listed falls below the threshold, or has a survivor that is not listed. */
function report(mutants: readonly TestedMutant[]): boolean {
  const timedOut = mutants.filter(({ verdict }) => verdict === 'timed out')
  printMutants('Timed out, which does not count as killed', timedOut)
  const { unlisted, killed, gone } = compareSurvivors(mutants, survivorsAmong(mutants))
  printMutants(
    'Survived: write a test that fails, or list the mutant with the reason why it is harmless',
    unlisted,
  )
  printMutants('Listed as survivors, but killed: remove them from the list', killed)
  if (!since) printMutants('Listed as survivors, but not in the code: remove them from the list', gone)
  mkdirSync(dirname(UNLISTED_FILE), { recursive: true })
  writeFileSync(UNLISTED_FILE, JSON.stringify(unlisted.map(toEntry), undefined, 2))
  console.log(`\nAll: ${describeScore(mutants)}`)
  const isUpToDate =
    !unlisted.some(isOfListedArea) && killed.length === 0 && (since !== undefined || gone.length === 0)
  return isUpToDate && isAboveThreshold(mutants)
}

function survivorsAmong(mutants: readonly TestedMutant[]): Survivor[] {
  const files = new Set(mutants.map(({ file }) => file))
  return readSurvivors().filter(({ file }) => files.has(file))
}

/** Of changed lines, listed survivors are left out: a change of one line must not fail for a mutant known as harmless. */
function isAboveThreshold(mutants: readonly TestedMutant[]): boolean {
  const { unlisted } = compareSurvivors(mutants, survivorsAmong(mutants))
  const counted = mutants
    .filter(isOfListedArea)
    .filter((each) => !since || each.verdict !== 'survived' || unlisted.includes(each))
  const score = scoreOf(counted)
  if (score < THRESHOLD)
    console.log(
      `At least ${THRESHOLD} % have to be killed where survivors are listed: ${score.toFixed(1)} % are`,
    )
  return score >= THRESHOLD
}

function isOfListedArea({ file }: { file: string }): boolean {
  return AREAS.some(({ isListed, mutate }) => isListed && matchesAny(file, mutate))
}

function printMutants(title: string, mutants: readonly (TestedMutant | Survivor)[]): void {
  if (mutants.length === 0) return
  console.log(`\n${title}:`)
  for (const mutant of mutants) {
    const place = 'lineNumber' in mutant ? `${mutant.file}:${mutant.lineNumber}` : mutant.file
    console.log(`  ${place}: ${mutant.line}\n      ${mutant.original} → ${mutant.replacement}`)
  }
}

function toEntry({ file, line, original, replacement }: TestedMutant): Survivor {
  return { file, line, original, replacement, reason: '' }
}

function describeScore(mutants: readonly TestedMutant[]): string {
  const count = (verdict: TestedMutant['verdict']) =>
    mutants.filter((each) => each.verdict === verdict).length
  return `${scoreOf(mutants).toFixed(1)} % of ${mutants.length} mutants killed; ${count('survived')} survived, ${count('timed out')} timed out`
}
