import { stripVTControlCharacters } from 'node:util'
import type { Reporter, TestCase } from 'vitest/node'

/** A Vitest reporter: at the end of a run, names the tests that passed only when they were retried, each with its first error. */
export const reportRetried: Reporter = {
  onTestRunEnd(modules) {
    const retried = modules
      .flatMap((module) => [...module.children.allTests('passed')])
      .filter((test) => test.diagnostic()?.flaky)
    if (retried.length === 0) return
    process.stdout.write(
      `\n${retried.length} test(s) passed on the second try only:\n${retried.map(describe).join('')}\n`,
    )
  },
}

function describe(test: TestCase): string {
  const [error] = test.result().errors ?? []
  const [reason = ''] = stripVTControlCharacters(error?.message ?? '').split('\n')
  return `  ${test.project.name} ${test.module.relativeModuleId} > ${test.fullName}\n    ${reason}\n`
}
