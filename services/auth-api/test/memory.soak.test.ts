import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { addressOf, type Service, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { queueUrl } from '@latchkey/test-support/engine.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The memory that clients may leave behind: the caches, which are bounded. */
const MAX_LEFT_BYTES = 60 * 1024 * 1024
const TOKENS = 30_000
/** The memory that clients may hold that read no response, files included: some 30 KB for each connection. */
const MAX_HELD_BYTES = 150 * 1024 * 1024
const SCRIPT = 'GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n'
/** The number of requests that are in flight at the same time. */
const CONCURRENCY = 20
const REPORT_MEMORY = join(import.meta.dirname, 'support', 'report-memory.ts')
const ISSUER = 'https://login.example.com'

const secret = randomBytes(64)
let database: TestDatabase
let service: Service
let origin: URL
beforeAll(async () => {
  database = await createTestDatabase()
  service = startAuthApiProcess(
    {
      DATABASE_URL: database.url,
      QUEUE_URL: await queueUrl(),
      API_SERVER: ISSUER,
      JWT_SECRET: secret.toString('base64'),
      RATE_LIMIT_REQUESTS: '1000000',
      DOCS_PAGE: 'on',
    },
    ['--import', REPORT_MEMORY],
  )
  origin = new URL(await addressOf(service))
})
afterAll(async () => {
  await service[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

interface Memory {
  rss: number
  /** The heap and what it refers to outside, after a collection. */
  used: number
}

async function readMemory(): Promise<Memory> {
  service.process.send('report memory')
  const [memory] = await once(service.process, 'message')
  return memory as Memory
}

const inMegabytes = ({ rss, used }: Memory) =>
  `${Math.round(used / 2 ** 20)} MB used, ${Math.round(rss / 2 ** 20)} MB resident`

/** Buffers and closed sockets are freed a moment after the last response. */
async function expectLittleLeft(before: Memory, what: string): Promise<void> {
  const left = async () => (await readMemory()).used - before.used
  await expect.poll(left, { interval: 1_000 }).toBeLessThan(MAX_LEFT_BYTES)
  console.log(`${what}: before ${inMegabytes(before)}, after ${inMegabytes(await readMemory())}`)
}

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })
afterAll(() => agent.destroy())

async function ping(token: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${token}` }
  const sent = request(new URL('/sampleprotected/ping', origin), { agent, headers }).end()
  const [response] = await once(sent, 'response')
  response.resume()
  await once(response, 'end')
  return response.statusCode
}

/** A token of about 2 KB, as one of a table with long names. */
async function aLongToken(userid: string): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const data = { userid, name: randomBytes(545).toString('hex'), role: 'user' }
  return new SignJWT({ auth_time: now, valid_from: now, sid: crypto.randomUUID(), data })
    .setProtectedHeader({ alg: 'HS512', typ: 'JWT' })
    .setIssuer(ISSUER)
    .setSubject(userid)
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + 3600)
    .setJti(crypto.randomUUID())
    .sign(secret)
}

describe('a service', () => {
  it(`keeps little of ${TOKENS} tokens of 2 KB`, async () => {
    const { userid } = await aUser({ users: createUserRepository(database.db) })
    const pingWithNew = async () => {
      const token = await aLongToken(userid)
      expect(token.length).toBeGreaterThan(1_900)
      expect(token.length).toBeLessThanOrEqual(2_048)
      expect(await ping(token)).toBe(200)
    }
    for (let warm = 0; warm < 200; warm++) await pingWithNew()
    const before = await readMemory()
    const turns = Array.from({ length: TOKENS }).values()
    const lane = async () => {
      for (const _ of turns) await pingWithNew()
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, lane))
    await expectLittleLeft(before, `${TOKENS} tokens`)
  })

  it.each([
    { what: 'pipeline requests', connections: 50, requests: 110 },
    { what: 'send a request each', connections: 1_000, requests: 1 },
  ])('holds little for $connections clients that $what and read nothing', async (attack) => {
    const countFiles = async () => (await readdir(`/proc/${service.process.pid}/fd`)).length
    const readResident = async () => {
      const status = await readFile(`/proc/${service.process.pid}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
    }
    const before = { files: await countFiles(), resident: await readResident() }
    const sockets = Array.from({ length: attack.connections }, () => {
      const socket = connect(Number(origin.port), origin.hostname).pause()
      return socket.on('error', () => undefined)
    })
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    for (const socket of sockets) socket.write(SCRIPT.repeat(attack.requests))
    let [files, resident] = [0, 0]
    for (const end = Date.now() + 5_000; Date.now() < end; await wait(100)) {
      files = Math.max(files, await countFiles())
      resident = Math.max(resident, await readResident())
    }
    console.log(
      `${attack.connections} connections: ${files} files, ${Math.round(resident / 2 ** 20)} MB resident`,
    )
    expect(files - before.files).toBeLessThan(attack.connections + 20)
    expect(resident - before.resident).toBeLessThan(MAX_HELD_BYTES)
    // Those that read nothing would be closed as well, after one or two minutes.
    for (const socket of sockets) socket.destroy()
    await expect.poll(countFiles).toBeLessThan(before.files + 20)
  })
})
