type Level = 'low' | 'high'

interface Shape {
  a: number
}

/** A method for each type of argument; Typed.php is the same in php. */
export class Typed {
  add(one: number, two = 2): number {
    return one + two
  }

  flags(on: boolean, off: boolean): boolean[] {
    return [on, off]
  }

  nothing(one: number | null): number | null {
    return one
  }

  either(value: number | string): number | string {
    return value
  }

  level(level: Level): string {
    return level
  }

  when(at: Date): Date {
    return at
  }

  list(values: readonly unknown[]): readonly unknown[] {
    return values
  }

  object(value: Shape): Shape {
    return value
  }

  below(limit = -1): number {
    return limit
  }

  sum(...numbers: number[]): number {
    return numbers.reduce((sum, number) => sum + number, 0)
  }

  bound(this: Typed, one: number, two: string): unknown[] {
    return [this.add(one, 1), two]
  }

  untyped(value: unknown): unknown {
    return value
  }

  text(value: string): string {
    return value
  }

  clock(clock: Clock): number {
    return clock.now()
  }

  async *countdown(from: number): AsyncGenerator<number> {
    for (let left = from; left > 0; left--) yield left
    console.error('lift-off')
  }

  collections(): unknown {
    return [new Map([['a', 1]]), new Set([1, 2])]
  }
}

class Clock {
  now(): number {
    return Date.now()
  }
}
