import { expect, it } from 'vitest'
import { requireServiceName } from './service-name.ts'

it.each(['', '.', '..', '../x', 'a/b', 'a.b', 'a b', '-a', 'a\n', 'é', 'a'.repeat(65), 'a@b', 'a;b', '%i'])(
  'refuses the name %j',
  (name) => {
    const refusal = { exitCode: 2, message: expect.stringContaining('is not a service name') }
    expect(() => requireServiceName(name)).toThrow(expect.objectContaining(refusal))
  },
)
