import { expect, it } from 'vitest'
import { readBySystemd } from './environment-files.ts'
import { startSystemdMachine } from './machine.ts'

const seed = Number(process.env.TEST_SEED)

it.each(['php', 'node'] as const)(
  `are read by systemd on the %s machine as by scriptify: TEST_SEED=${seed}`,
  async (kind) => {
    await using machine = await startSystemdMachine(kind)
    for (let round = 0; round < 5; round++)
      for (const { text, own, systemd } of await readBySystemd(machine, { seed: seed + round, count: 150 }))
        expect(systemd, JSON.stringify(text)).toEqual(own)
  },
)
