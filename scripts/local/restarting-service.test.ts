import { existsSync, readFileSync } from 'node:fs'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startRestarting } from './restarting-service.ts'

const SERVICE = `
import { appendFileSync } from 'node:fs'
import { value } from './value.ts'
appendFileSync(process.env.STARTS, value + ' ' + process.pid + '\\n')
process.send({ ready: true })
setInterval(() => {}, 1000)
`

async function aService() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-restart-'))
  const pathOf = (name: string) => join(folder.path, name)
  const write = (name: string, text: string) => writeFile(pathOf(name), text)
  await write('service.ts', SERVICE)
  await write('value.ts', `export const value = 'one'`)
  const said: string[] = []
  const service = startRestarting(
    'mailer',
    pathOf('service.ts'),
    { ...process.env, STARTS: pathOf('starts') },
    { folders: [folder.path], say: (text) => void said.push(text) },
  )
  return {
    service,
    said: () => said.join('\n'),
    write,
    /** The values that the service had at its starts, and the process of the last one. */
    starts() {
      const text = existsSync(pathOf('starts')) ? readFileSync(pathOf('starts'), 'utf8') : ''
      const lines = text.trim().split('\n')
      return { values: lines.map((line) => line.split(' ')[0]), pid: Number(lines.at(-1)?.split(' ')[1]) }
    },
    async [Symbol.asyncDispose]() {
      await service.stop()
      await folder.remove()
    },
  }
}

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

it('starts a service anew when a file changes, and ends the old process', async () => {
  await using started = await aService()
  await started.service.ready
  const { pid } = started.starts()
  await started.write('value.ts', `export const value = 'two'`)
  await expect.poll(() => started.starts().values).toEqual(['one', 'two'])
  expect(isRunning(pid)).toBe(false)
  await expect
    .poll(started.said)
    .toMatch(/value\.ts changed: mailer starts anew\nmailer is ready after \d+ ms/)
})

it('waits for the next change after a mistake', async () => {
  await using started = await aService()
  await started.service.ready
  await started.write('value.ts', 'export const value = (')
  await expect.poll(started.said).toContain('it starts again when a file changes')
  await started.write('value.ts', `export const value = 'two'`)
  await expect.poll(() => started.starts().values).toEqual(['one', 'two'])
})

it('starts for what the service loads only, and not after its stop', async () => {
  await using started = await aService()
  await started.service.ready
  await started.write('README.md', '')
  await started.write('value.test.ts', '')
  await started.write('other.ts', '')
  await expect.poll(() => started.starts().values).toHaveLength(2)
  expect(started.said()).toContain('other.ts changed')
  expect(started.said()).not.toMatch(/README|test\.ts/)
  const { pid } = started.starts()
  await started.service.stop()
  expect(isRunning(pid)).toBe(false)
})
