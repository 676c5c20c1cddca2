import { cpus } from 'node:os'
import type { HttpResult } from '../rows/measure-http.ts'
import { canPin } from './pinned-process.ts'

/** What figures of different runs depend on. */
export const conditions = () => ({
  node: process.version,
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? '',
  isPinned: canPin,
  at: new Date().toISOString(),
})

/** Prints the hosts of a row below each other; a ratio compares Latchkey with the host of its line. */
export function printHttp(row: string, results: readonly HttpResult[]): void {
  const lines = results.map((result) => [
    result.host,
    {
      'per s': Math.round(result.perSecond),
      "Latchkey's": result.throughputOfLatchkey,
      'CPU µs': result.cpuMicros,
      "Latchkey's CPU": result.cpuOfLatchkey,
      'cores busy': result.busy,
      'p50 ms': result.p50Ms,
      'p99 ms': result.p99Ms,
      ...(result.statements === undefined
        ? {}
        : { statements: result.statements, 'round trips': result.roundTrips }),
    },
  ])
  printTable(row, Object.fromEntries(lines))
}

type Line = Readonly<Record<string, unknown>>

export function printTable(title: string, lines: Readonly<Record<string, Line>>): void {
  console.log(`\n${title}`)
  console.table(Object.fromEntries(Object.entries(lines).map(([name, line]) => [name, roundAll(line)])))
}

/** Prints one line for each of `results`, called by its host. */
export const printHosts = (title: string, results: readonly { host: string }[]): void =>
  printTable(title, Object.fromEntries(results.map(({ host, ...line }) => [host, line])))

const roundAll = (line: Line): Line =>
  Object.fromEntries(
    Object.entries(line)
      .filter(([, value]) => !Number.isNaN(value))
      .map(([name, value]) => [name, typeof value === 'number' ? round(value) : value]),
  )

const round = (value: number): number => (value >= 1_000 ? Math.round(value) : Number(value.toPrecision(3)))
