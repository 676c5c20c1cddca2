import { existsSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

let calls = 0

/** The class that the tests call; Probe.php is the same in php. */
export class Probe {
  constructor() {
    process.stderr.write(process.env.SHOW_CONSTRUCTOR ? 'constructed\n' : '')
  }

  hex(...values: string[]): void {
    for (const value of values) console.log(Buffer.from(value).toString('hex'))
  }

  static still(): void {
    console.log('static')
  }

  /**
   * Adds two numbers.
   *
   * Slowly.
   */
  add(one: string, two: string = '2'): string {
    return String(Number(one) + Number(two))
  }

  describe(value: unknown): string {
    return JSON.stringify(value)
  }

  env(name: string): void {
    console.log(process.env[name] ?? 'unset')
  }

  forever(): void {
    for (;;);
  }

  where(): void {
    console.log(process.cwd(), process.pid)
  }

  boom(): void {
    throw new RangeError('boom')
  }

  ramble(): void {
    throw new Error('first\n  second\r\n\nthird\n')
  }

  circle(): object {
    const circle: Record<string, unknown> = {}
    circle.self = circle
    return circle
  }

  leave(code: string): void {
    process.exit(Number(code))
  }

  fill(): void {
    const all: number[][] = []
    for (;;) all.push(Array.from({ length: 100_000 }, Math.random))
  }

  async dieBy(signal: string): Promise<void> {
    process.kill(process.pid, Number(signal))
    await sleep(10_000)
  }

  pour(): void {
    for (;;) process.stdout.write('drop\n')
  }

  /** Reads standard input without an event loop, as php does. */
  drink(): void {
    console.log(readFileSync(0).length)
  }

  fillPipe(): void {
    for (let line = 0; line < 200_000; line++) process.stdout.write(`line ${line}\n`)
  }

  /** Tells where in a call it is; the file makes it go on. */
  async work(file: string): Promise<void> {
    console.log('begin')
    while (!existsSync(file)) await sleep(20)
    console.log('end')
  }

  /** Fails once, then works. */
  async stumble(): Promise<void> {
    calls++
    await sleep(1)
    if (calls === 1) throw new Error('first')
    console.log(`call ${calls}`)
  }

  async never(): Promise<void> {
    await new Promise(() => undefined)
  }

  async forget(): Promise<void> {
    void Promise.reject(new Error('forgotten'))
    await sleep(10_000)
  }

  async later(value: string): Promise<{ value: string }> {
    await sleep(5)
    return { value }
  }

  optional(first: string, second?: string): void {
    console.log(first, second)
  }

  private hidden(): void {}

  protected guarded(): void {
    this.hidden()
  }
}

export async function greet(name: string, greeting = 'Hello'): Promise<string> {
  return `${greeting}, ${name}`
}

export default class {
  run(): void {
    console.log('default')
  }
}
