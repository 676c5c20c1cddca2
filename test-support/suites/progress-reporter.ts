import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import {
  DefaultReporter,
  type TestCase,
  type TestModule,
  type TestSpecification,
  type TestSuite,
} from 'vitest/node'

const SLOWEST_COUNT = 10
/** A file that takes less is not worth a line. */
const SLOW_MS = 1_000
/** Programs without which tests are skipped. */
const PROGRAMS = ['docker', 'git', 'go', 'haproxy', 'kubectl', 'nginx', 'php', 'promtool', 'zsh', 'fish']

/**
 * Vitest's own reporter with one line a file, which counts the files; failed tests and errors are shown in full. At the end it
 * names what was skipped and the slowest files, and counts the tests in one line that a program can read.
 */
export class ProgressReporter extends DefaultReporter {
  #total = 0
  #ended = 0

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#total = specifications.length
    this.#ended = 0
    super.onTestRunStart(specifications)
  }

  override onTestModuleEnd(module: TestModule): void {
    this.#ended++
    super.onTestModuleEnd(module)
  }

  override getEntityPrefix(entity: TestCase | TestModule | TestSuite): string {
    const count = `[${String(this.#ended).padStart(String(this.#total).length)}/${this.#total}]`
    return entity.type === 'module'
      ? `${count} ${super.getEntityPrefix(entity)}`
      : super.getEntityPrefix(entity)
  }

  override printTestCase(...[state, test]: Parameters<DefaultReporter['printTestCase']>): void {
    if (test.result().state === 'failed' || this.renderSucceed) super.printTestCase(state, test)
  }

  override reportTestSummary(...args: Parameters<DefaultReporter['reportTestSummary']>): void {
    const modules = this.ctx.state.getTestModules()
    const blocks = this.#total > 1 ? [describeSkipped(modules), describeSlowest(modules)] : []
    for (const block of blocks.filter((lines) => lines.length > 0)) this.log(`\n${block.join('\n')}`)
    super.reportTestSummary(...args)
    const [, errors] = args
    this.log(`${describeCounts(modules, errors.length)}\n`)
  }
}

function describeSkipped(modules: readonly TestModule[]): string[] {
  const tests = modules.flatMap((module) => [...module.children.allTests('skipped')])
  if (tests.length === 0) return []
  const reasons = [...Map.groupBy(tests, reasonOf)]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([reason, { length }]) => `${String(length).padStart(6)}  ${reason}`)
  const missing = PROGRAMS.filter((program) => !isOnPath(program))
  return [
    `Skipped tests: ${tests.length}`,
    ...reasons,
    ...(missing.length > 0 ? [`        This machine lacks ${missing.join(', ')}.`] : []),
  ]
}

function reasonOf(test: TestCase): string {
  const result = test.result()
  if (result.state === 'skipped' && result.note) return result.note
  const { name } = test.project
  const file = test.module.relativeModuleId
  if (isFailedInHook(test.module)) return `${name}: ${file}, of which a hook failed`
  return file.includes('.engine.') ? `${name}: another database runs them` : `${name}: ${file}`
}

function describeSlowest(modules: readonly TestModule[]): string[] {
  const slowest = modules
    .map((module) => ({ module, durationMs: module.diagnostic().duration }))
    .filter(({ durationMs }) => durationMs >= SLOW_MS)
    .toSorted((a, b) => b.durationMs - a.durationMs)
    .slice(0, SLOWEST_COUNT)
    .map(
      ({ module, durationMs }) =>
        `${(durationMs / 1_000).toFixed(1).padStart(6)} s  ${module.project.name}: ${module.relativeModuleId}`,
    )
  return slowest.length > 0 ? ['Slowest files:', ...slowest] : []
}

/** A file whose hook fails, and an error of no test, count as a failed test. */
function describeCounts(modules: readonly TestModule[], errors: number): string {
  const count = (state: 'passed' | 'failed' | 'skipped') =>
    modules.reduce((sum, { children }) => sum + [...children.allTests(state)].length, 0)
  const failedFiles = modules.filter(isFailedInHook)
  const skipped = count('skipped')
  const failed = count('failed') + failedFiles.length + errors
  return `${count('passed')} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

const isFailedInHook = (module: TestModule): boolean =>
  module.state() === 'failed' && [...module.children.allTests('failed')].length === 0

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
