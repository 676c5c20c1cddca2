import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  aDataDir,
  connect,
  isBusy,
  killIfThere,
  launch,
  listen,
  postmasterPid,
  query,
  serverProcesses,
  start,
} from '@latchkey/test-support/embedded-launcher.ts'
import getPort from 'get-port'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { EmbeddedServer } from './postgres.ts'

// The race for a port is lost by an answer that is not true any more.
vi.mock(import('get-port'), { spy: true })

// The tests look for processes in /proc. Each goes on with the data of the one before it.
describe.skipIf(process.platform !== 'linux')('the embedded PostgreSQL', { shuffle: false }, () => {
  const folder = aDataDir()
  const data = join(folder.path, 'postgres/data')
  let first: EmbeddedServer
  const lines: string[] = []
  beforeAll(async () => {
    first = await start(folder.path, { log: (line) => lines.push(line) })
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  it('requires its generated password, which only its owner may read and no log line shows', async () => {
    const file = join(folder.path, 'postgres/password')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const password = readFileSync(file, 'utf8')
    expect(password).toMatch(/^[\w-]{32}$/)
    await expect(query(first.url.replace(password, 'guess'), 'SELECT 1')).rejects.toThrow('authentication')
    await query(first.url, 'CREATE TABLE secret (hash text UNIQUE)')
    await query(first.url, "INSERT INTO secret VALUES ('5ecret')")
    await expect(query(first.url, "INSERT INTO secret VALUES ('5ecret')")).rejects.toThrow('duplicate')
    expect(lines.join('\n')).toContain('duplicate key')
    expect(lines.join('\n')).not.toMatch(new RegExp(`5ecret|${password}`))
  })

  it('leaves no process and no port behind when it stops, with a client still connected', async () => {
    await query(first.url, "CREATE TABLE first_start AS SELECT lower('ÉÄŽ') AS text")
    const client = await connect(first.url)
    const sleeping = client.query('SELECT pg_sleep(60)').catch((error: unknown) => error)
    await isBusy(first.url, 'SELECT pg_sleep')
    await Promise.all([first.stop(), first.stop()])
    expect(await first.exited).toBeUndefined()
    expect(await sleeping).toBeInstanceOf(Error)
    await client.end()
    expect(serverProcesses(folder.path)).toEqual([])
    expect(readdirSync(folder.path)).toEqual(['postgres'])
    expect(existsSync(join(data, 'postmaster.pid'))).toBe(false)
  })

  it('keeps its data, takes another port when its own is taken, and ends with a launcher that is killed', async () => {
    await using other = await listen(first.port)
    const second = await launch(folder.path)
    expect(second.port).not.toBe(other.port)
    expect(second.logged).toContain(`Port ${other.port} is taken; PostgreSQL listens on ${second.port}`)
    expect(await query(second.url, 'SELECT text FROM first_start')).toEqual([{ text: 'éäž' }])
    await expect(start(folder.path)).rejects.toThrow(
      `Latchkey is already running on the data folder ${folder.path} (PostgreSQL with pid ${postmasterPid(folder.path)} on port ${second.port})`,
    )
    await query(second.url, "CREATE TABLE note AS SELECT 'kept' AS text")
    await second.kill()
  })

  it('starts at once after that, recovers when its children are killed, and reports its own death', async () => {
    const server = await start(folder.path)
    expect(server.port).toBe(first.port)
    expect(await query(server.url, 'SELECT text FROM note')).toEqual([{ text: 'kept' }])
    const postmaster = postmasterPid(folder.path)
    for (const pid of serverProcesses(folder.path).filter((child) => child !== postmaster)) killIfThere(pid)
    await expect.poll(() => query(server.url, 'SELECT 1 AS one').catch(() => [])).toHaveLength(1)
    killIfThere(postmaster)
    expect((await server.exited)?.message).toContain('ended with 137')
    await server.stop()
    expect(serverProcesses(folder.path)).toEqual([])
  })

  it('starts again after its death, also where another program takes the port before its bind', async () => {
    const port = first.port
    await using other = await listen(port)
    vi.mocked(getPort).mockResolvedValueOnce(port)
    const said: string[] = []
    await using server = await start(folder.path, { port, log: (line) => said.push(line) })
    expect(other.port).toBe(port)
    expect(server.port).not.toBe(port)
    expect(said.join('\n'), 'the attempt that failed').not.toContain('could not bind')
    expect(await query(server.url, 'SELECT text FROM note')).toEqual([{ text: 'kept' }])
  })

  it('refuses the data of another version, and quotes PostgreSQL on damaged data', async () => {
    writeFileSync(join(data, 'PG_VERSION'), '17\n')
    await expect(start(folder.path)).rejects.toThrow('created by PostgreSQL 17, and this is PostgreSQL 18')
    writeFileSync(join(data, 'PG_VERSION'), '18\n')
    rmSync(join(data, 'global/pg_control'))
    await expect(start(folder.path)).rejects.toThrow(/PostgreSQL said:[\s\S]*pg_control/)
  })
})
