import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/error-message.ts'
import shareServers from '../services/test/servers/shared-servers.ts'
import { AREAS, type Area } from './mutation/areas.ts'
import { changedLines, previousCommit } from './mutation/changed-lines.ts'
import { SERVERS_URL } from './mutation/provide-servers.ts'
import { type AreaResult, reportAreas, reportChanges } from './mutation/report.ts'
import { readSurvivors, type Survivor, type TestedMutant } from './mutation/survivors.ts'
import { testMutants } from './mutation/test-mutants.ts'

const USAGE = `npm run test:mutation -- [<area>...] [--changed] [--since <commit>]

Changes the code in one place at a time and runs the tests that reach that place. A mutant survives if they still pass.

  <area>            ${AREAS.map(({ name }) => name).join(', ')}; all by default
  --changed         only lines that have changed since the branch left main; on main, in the last commit to this code
  --since <commit>  only lines that have changed since <commit>
`

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
  const results = since ? await testChanges(areas, since) : await testAll(areas)
  const { text, isFailure, unlisted } = (since ? reportChanges : reportAreas)(results, readSurvivors())
  console.log(`\n${text}`)
  mkdirSync(dirname(UNLISTED_FILE), { recursive: true })
  writeFileSync(UNLISTED_FILE, JSON.stringify(unlisted.map(toEntry), undefined, 2))
  process.exitCode = isFailure ? 1 : 0
} finally {
  await stopServers()
}

function readArguments(): { areas: readonly Area[]; since: string | undefined } {
  const { values, positionals } = parseArguments()
  const unknown = positionals.find((name) => !AREAS.some((area) => area.name === name))
  if (unknown !== undefined) exitWithUsage(`Unknown area: ${unknown}`)
  return {
    areas: positionals.length === 0 ? AREAS : AREAS.filter(({ name }) => positionals.includes(name)),
    since: values.since ?? (values.changed ? previousCommit(AREAS) : undefined),
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

async function testAll(areas: readonly Area[]): Promise<AreaResult[]> {
  const results: AreaResult[] = []
  for (const area of areas) results.push(await testArea(area))
  return results
}

async function testChanges(areas: readonly Area[], since: string): Promise<AreaResult[]> {
  console.log(`Mutants in lines that have changed since ${since}:`)
  const begunUntil = Date.now() + LAST_BEGIN_MINUTES * 60_000
  const results: AreaResult[] = []
  for (const area of areas) {
    const { ranges, leftOut } = changedLines(area, since)
    if (ranges.length === 0) continue
    if (Date.now() > begunUntil) console.log(`${area.name}: left out, for lack of time`)
    else results.push(await testArea(area, ranges))
    if (leftOut > 0) console.log(`${area.name}: ${leftOut} changed lines left out`)
  }
  return results
}

async function testArea(area: Area, ranges?: readonly string[]): Promise<AreaResult> {
  console.log(`\n${area.name}:`)
  const begun = performance.now()
  const mutants = await testMutants(area, ranges)
  return { name: area.name, mutants, seconds: (performance.now() - begun) / 1000 }
}

function toEntry({ file, line, original, replacement }: TestedMutant): Survivor {
  return { file, line, original, replacement, reason: '' }
}
