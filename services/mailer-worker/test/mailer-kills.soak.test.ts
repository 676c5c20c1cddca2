import { type Servers, startServers } from '@latchkey/test-support/mail-servers.ts'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { expectMailToSurviveKills } from './support/kill-workers.ts'
import { type MailSystem, openMailSystem } from './support/mail-system.ts'

const MAILS = Number(process.env.MAILS ?? 1_000)
const MAILS_PER_KILL = 50

describe.skipIf(!hasDocker()).each(inject('combinations'))('many mails on %s', (combination) => {
  let servers: Servers
  let system: MailSystem
  beforeAll(async () => {
    servers = await startServers(combination)
    system = await openMailSystem(servers)
  })
  afterAll(async () => {
    await system?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })

  it('arrive while workers are killed again and again', async () => {
    const kills = Math.max(4, Math.round(MAILS / MAILS_PER_KILL))
    const counted = await expectMailToSurviveKills(system, { mails: MAILS, kills })
    process.stdout.write(`${combination}: ${counted}\n`)
    expect(counted).toContain(`${MAILS} arrived`)
  })
})
