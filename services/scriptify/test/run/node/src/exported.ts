import { EventEmitter } from 'node:events'
import { Base } from './base.ts'

class Listed extends Base {
  private secret(): void {}

  private static hidden = () => undefined

  /** Adds one. */
  add(one: number): number {
    this.secret()
    Listed.hidden()
    return one + 1
  }
}

class Inner extends EventEmitter {
  protected secret(): void {}
}

const held = class {
  private secret(): void {}

  run(): void {
    this.secret()
  }
}

/** Greets. */
const hello = (name: string): string => `Hello, ${name}`

export default Listed
export { held, hello, Inner as Renamed, Listed as Other }
