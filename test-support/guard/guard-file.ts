import { afterAll, inject } from 'vitest'
import { connectToGuard, stopStarted } from './guard.ts'

declare module 'vitest' {
  interface ProvidedContext {
    guard: string
  }
}

// A set-up of Vitest, which runs before each file: what a test or a hook has started and not ended, ends with its file.
await connectToGuard(inject('guard'))
afterAll(async () => {
  for (const command of await stopStarted())
    process.stderr.write(`A test has left this running, which was ended: ${command}\n`)
})
