import { expect, it } from 'vitest'
import { runBySystemd } from './command-lines.ts'
import { startSystemdMachine } from './machine.ts'

const seed = Number(process.env.TEST_SEED)

it.each(['php', 'node'] as const)(
  `are read by systemd on the %s machine as they were quoted: TEST_SEED=${seed}`,
  async (kind) => {
    await using machine = await startSystemdMachine(kind)
    for (const { given, seen } of await runBySystemd(machine, { seed, count: 150 }))
      expect(seen).toEqual(given)
  },
)
