import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative } from 'node:path'
import { Stryker } from '@stryker-mutator/core'
import { type Area, codeOf } from './areas.ts'
import type { TestedMutant, Verdict } from './survivors.ts'

type MutantResult = Awaited<ReturnType<Stryker['runMutationTest']>>[number]

/** Tests the mutants of an area; `mutate` narrows its code to files or to `file:firstLine-lastLine`. */
export async function testMutants(
  area: Area,
  mutate: readonly string[] = area.mutate,
): Promise<TestedMutant[]> {
  process.env.MUTATION_AREA = area.name
  // Read before the run: a file that is edited meanwhile would have other lines at its end.
  const sources = new Map(codeOf(area).map((file) => [file, readFileSync(file, 'utf8')]))
  const stryker = new Stryker({
    testRunner: 'vitest',
    vitest: { configFile: 'scripts/mutation/vitest.config.ts', related: false },
    plugins: ['@stryker-mutator/vitest-runner', join(import.meta.dirname, 'ignore-prose.ts')],
    ignorers: ['prose'],
    mutate: [...mutate, '!**/*.test.ts'],
    coverageAnalysis: 'perTest',
    concurrency: availableParallelism(),
    // A mutant has five times as long as its tests took without it, and a minute for a busy machine.
    timeoutFactor: 5,
    timeoutMS: 60_000,
    dryRunTimeoutMinutes: 10,
    reporters: ['progress-append-only'],
    ignorePatterns: ['docs', 'k8s'],
    // Stryker would read it by an API that TypeScript 7 does not have.
    tsconfigFile: 'none',
    tempDirName: '.stryker-tmp',
    // The tests of the documentation would read the copies.
    cleanTempDir: 'always',
  })
  const results = await stryker.runMutationTest()
  return results.flatMap((result) => {
    const verdict = verdictOf(result)
    return verdict ? [{ ...describe(result, sources), verdict }] : []
  })
}

function verdictOf({ status }: MutantResult): Verdict | undefined {
  if (status === 'Killed' || status === 'RuntimeError') return 'killed'
  if (status === 'Timeout') return 'timed out'
  if (status === 'Survived' || status === 'NoCoverage') return 'survived'
  return undefined
}

function describe(
  { fileName, location: { start, end }, replacement }: MutantResult,
  sources: ReadonlyMap<string, string>,
): Omit<TestedMutant, 'verdict'> {
  const file = relative(process.cwd(), fileName)
  const lines = (sources.get(file) ?? '').split('\n')
  const [first = ''] = lines.slice(start.line - 1)
  const part = lines.slice(start.line - 1, end.line).join('\n')
  const afterEnd = (lines[end.line - 1]?.length ?? 0) - (end.column - 1)
  return {
    file,
    lineNumber: start.line,
    line: first.trim(),
    original: onOneLine(part.slice(start.column - 1, part.length - afterEnd)),
    replacement: onOneLine(replacement ?? ''),
  }
}

const onOneLine = (code: string): string => code.replaceAll(/\s+/g, ' ')
