import { expect, it } from 'vitest'
import { requireFreePorts } from './service-ports.ts'

it('names HOST, which shells and conda set too', async () => {
  await expect(requireFreePorts({ HOST: 'x86_64-conda-linux-gnu.invalid' })).rejects.toThrow(
    'Cannot listen on x86_64-conda-linux-gnu.invalid: HOST is not an address of this machine.',
  )
})
