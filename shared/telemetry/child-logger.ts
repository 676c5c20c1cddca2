import { type ChildLoggerOptions, symbols } from 'pino'

/** The text that pino writes before the members of each line: JSON without its first brace. */
const BINDINGS = symbols.chindingsSym
/** What a child adds to that text. */
const OWN = Symbol('latchkey.bindings')

interface ParentLogger {
  child(bindings: object, options: object): this
}

type ChildClass = new (bindings: object) => unknown

const childClasses = new WeakMap<object, ChildClass>()

/**
 * Does what `logger.child` does, for bindings that hold no secret. pino redacts and serializes the bindings of each child
 * at once, which takes longer than the rest of a short request; here they become text with the first line.
 */
export function createChildLogger<Logger extends ParentLogger>(
  logger: Logger,
  bindings: object,
  options: ChildLoggerOptions = {},
): Logger {
  if (!(BINDINGS in logger) || Object.keys(options).length > 0) return logger.child(bindings, options)
  const Child = childClasses.get(logger) ?? createChildClass(logger)
  return new Child(bindings) as Logger
}

/** The objects of a class have one shape, so that they are cheaper than what `Object.create` makes. */
function createChildClass(parent: object): ChildClass {
  class Child {
    [OWN]: object
    constructor(bindings: object) {
      this[OWN] = bindings
    }
    get [BINDINGS](): string {
      return `${Reflect.get(parent, BINDINGS)},${JSON.stringify(this[OWN]).slice(1, -1)}`
    }
    /** pino sets those of a child of this one. */
    set [BINDINGS](value: string) {
      Object.defineProperty(this, BINDINGS, { value, writable: true, configurable: true, enumerable: true })
    }
  }
  Object.setPrototypeOf(Child.prototype, parent)
  childClasses.set(parent, Child)
  return Child
}
