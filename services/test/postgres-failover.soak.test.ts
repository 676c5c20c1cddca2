import { hash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type ComposeProject, startProject } from '@latchkey/test-support/compose-project.ts'
import { type Answer, PASSWORD, startLoad } from '@latchkey/test-support/failover-load.ts'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { docker } from '@latchkey/test-support/images.ts'
import { openMailbox } from '@latchkey/test-support/mailbox.ts'
import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import { expect, it } from 'vitest'

/** The number of times that each fault occurs; raised by hand for a longer soak. */
const ROUNDS = Number(process.env.ROUNDS ?? 1)
const EXAMPLE = '../docs/examples/high-availability'
const SERVERS = ['postgres-1', 'postgres-2', 'postgres-3']
/** The address of the primary, with the login of the owner of the tables. */
const PRIMARY_URL = 'postgres://latchkey:latchkey@haproxy:5432/latchkey'
/** A failover takes the 20 s of `ttl` and a few more; a busy machine needs longer. */
const FAILOVER_TIMEOUT_MS = 120_000
/** The time limit of a statement, that of a free connection before it, and what a busy machine adds. */
const LONGEST_ANSWER_MS = 24_000

interface Member {
  Member: string
  Role: string
  State: string
}

it('loses nothing that was acknowledged while PostgreSQL fails over', async () => {
  await using mailbox = await openMailbox('0.0.0.0')
  const stats = await findFreePort()
  await sharedServer('patroni-image')
  const project = await startProject({
    base: `${EXAMPLE}/compose.yml`,
    files: ['../test-support/faults.compose.yml'],
    environment: {
      MAIL_URL: `smtp://host.docker.internal:${mailbox.port}`,
      HAPROXY_STATS_PORT: `127.0.0.1:${stats}`,
    },
  })
  await addUsers(project)
  const before = await describeProcesses(project)
  const proxy = watchProxy(`http://127.0.0.1:${stats}/;csv`)
  const load = startLoad(project.api)
  await expect.poll(() => successes(load.answers).length).toBeGreaterThan(20)

  const start = (primary: string) => project.compose('start', primary)
  const notReady = () => expect.poll(proxy.readyReplicas, { message: 'what /health/ready says' }).toBe(0)

  /** Each strikes, and resolves with the moment at which HAProxy leads to a primary again. */
  const faults: Record<string, { strike(primary: string): Promise<number>; repair?: typeof start }> = {
    'planned switchover': {
      async strike(primary) {
        await project.inside(running(primary), `patronictl switchover --leader ${primary} --force`)
        return proxy.leads(isAnother(primary))
      },
    },
    'primary killed': {
      async strike(primary) {
        await project.compose('kill', primary)
        await notReady()
        return proxy.leads(isAnother(primary))
      },
      repair: start,
    },
    // The new primary then waits for the other standby, which has more than it, and rewinds first.
    'primary killed, its synchronous standby behind': {
      async strike(primary) {
        const { Member = '' } = (await members(project)).find(({ Role }) => Role === 'Sync Standby') ?? {}
        const network = `${project.name}_default`
        const [standby = ''] = await project.containersOf(Member)
        await docker('network', 'disconnect', network, standby)
        await wait(1_500)
        await project.compose('kill', primary)
        await docker('network', 'connect', '--alias', Member, network, standby)
        await notReady()
        return proxy.leads(isAnother(primary))
      },
      repair: start,
    },
    'primary paused': {
      async strike(primary) {
        await project.compose('pause', primary)
        return proxy.leads(isAnother(primary))
      },
      repair: (primary) => project.compose('unpause', primary),
    },
    'etcd without a majority': {
      async strike() {
        await project.compose('kill', 'etcd-1', 'etcd-2')
        await proxy.leads((server) => server === '')
        await notReady()
        await project.compose('start', 'etcd-1', 'etcd-2')
        return proxy.leads((server) => server !== '')
      },
    },
  }
  const rows: object[] = []
  for (let round = 0; round < ROUNDS; round++)
    for (const [fault, { strike, repair }] of Object.entries(faults)) {
      const primary = await proxy.primary()
      const at = Date.now()
      const promotedAt = await strike(primary)
      const commitsAt = await commits(project, running(primary))
      await repair?.(primary)
      await expect
        .poll(() => successes(load.answers).filter((each) => each.endedAt > commitsAt).length)
        .toBeGreaterThan(20)
      await expect
        .poll(() => states(project), { timeout: FAILOVER_TIMEOUT_MS, interval: 1_000 })
        .toEqual(['Leader, running', 'Replica, streaming', 'Sync Standby, streaming'])
      const gap = describeGap(load.answers, { at, promotedAt, commitsAt })
      rows.push({ fault, ...gap })
      // PgBouncer's own pause would be 15 s.
      expect(gap['first answer after that, s'], fault).toBeLessThan(10)
    }
  await expect.poll(proxy.readyReplicas).toBe(2)
  await load.end()
  proxy.stop()

  const unsent = () => load.resets.filter(({ what }) => mailbox.to(what).length === 0)
  await expect.poll(unsent, { timeout: FAILOVER_TIMEOUT_MS }).toEqual([])
  const idsOf = (email: string) => new Set(mailbox.to(email).map(({ messageId }) => messageId))
  const twice = load.resets.filter(({ what }) => idsOf(what).size > 1)
  const count = (has: (status: number) => boolean) => load.answers.filter(({ status }) => has(status)).length
  console.table(rows)
  console.table([
    {
      sent: load.answers.length,
      acknowledged: count((status) => status < 300 && status > 0),
      refused: count((status) => status === 503),
      'refused tokens': count((status) => status === 401),
      lost: load.lost.length,
      mails: load.resets.length,
      twice: twice.length,
      'longest answer, s': seconds(Math.max(...load.answers.map(({ at, endedAt }) => endedAt - at))),
    },
  ])
  expect(load.lost).toEqual([])
  expect(twice).toEqual([])
  expect(load.answers.filter((each) => !isExpected(each))).toEqual([])
  expect(load.answers.filter(({ at, endedAt }) => endedAt - at > LONGEST_ANSWER_MS)).toEqual([])
  expect(await describeProcesses(project), 'no process restarts').toEqual(before)
}, 900_000)

/** Another server than the one that is struck. */
const running = (primary: string): string => SERVERS.find((name) => name !== primary) ?? ''

const isAnother = (primary: string) => (server: string) => server !== '' && server !== primary

const seconds = (ms: number): number => Math.round(ms / 100) / 10

const successes = (answers: readonly Answer[]): Answer[] =>
  answers.filter(({ kind, status }) => kind !== 'ping' && status >= 200 && status < 300)

/** An ended token is refused, and what the database cannot do is refused for a while. */
const isExpected = ({ status, hasRetryAfter }: Answer): boolean =>
  (status >= 200 && status < 300) || status === 401 || (status === 503 && hasRetryAfter)

/** Resolves with the moment at which the database takes a commit. */
async function commits({ inside }: ComposeProject, server: string): Promise<number> {
  const commit = `psql -q ${PRIMARY_URL} -c "update users set name = name where username = 'ada20000'"`
  return Number(await inside(server, `until ${commit}; do sleep 0.1; done 2> /dev/null; date +%s%3N`))
}

function describeGap(
  answers: readonly Answer[],
  { at, promotedAt, commitsAt }: Record<'at' | 'promotedAt' | 'commitsAt', number>,
) {
  const ends = successes(answers)
    .map(({ endedAt }) => endedAt)
    .filter((endedAt) => endedAt >= at - 1_000)
    .toSorted((a, b) => a - b)
  const gap = Math.max(...ends.slice(1).map((end, index) => end - (ends[index] ?? end)))
  const first = ends.find((end) => end >= commitsAt) ?? Number.POSITIVE_INFINITY
  const refused = answers.filter((each) => each.status === 503 && each.at >= at).length
  return {
    'promoted after, s': seconds(promotedAt - at),
    'commits after, s': seconds(commitsAt - at),
    'first answer after that, s': seconds(first - commitsAt),
    'no answer, s': seconds(gap),
    refused,
  }
}

/** Watches the servers as HAProxy sees them, ten times a second. */
function watchProxy(url: string) {
  let isEnding = false
  let current: { proxy: string; server: string; status: string }[] = []
  const seen: { server: string; at: number }[] = []
  const isUp = (name: string) =>
    current
      .filter(({ proxy, status }) => proxy === name && status.startsWith('UP'))
      .map(({ server }) => server)

  async function read(): Promise<void> {
    const text = await (await fetch(url)).text()
    const [header = '', ...lines] = text.trim().split('\n')
    const column = header.split(',').indexOf('status')
    current = lines.map((line) => {
      const fields = line.split(',')
      return { proxy: fields[0] ?? '', server: fields[1] ?? '', status: fields[column] ?? '' }
    })
    const [server = ''] = isUp('postgres').filter((name) => SERVERS.includes(name))
    if (seen.at(-1)?.server !== server) seen.push({ server, at: Date.now() })
  }

  const watching = (async () => {
    while (!isEnding) {
      await read().catch(() => undefined)
      await wait(100)
    }
  })()

  async function leads(accepts: (server: string) => boolean): Promise<number> {
    await expect
      .poll(() => seen.some(({ server }, at) => at === seen.length - 1 && accepts(server)), {
        timeout: FAILOVER_TIMEOUT_MS,
        interval: 50,
      })
      .toBe(true)
    return seen.at(-1)?.at ?? 0
  }

  return {
    async primary(): Promise<string> {
      await leads((server) => server !== '')
      return seen.at(-1)?.server ?? ''
    },
    /** Waits until HAProxy leads to a server that `accepts`, '' for none; resolves with the moment since when. */
    leads,
    readyReplicas: () => isUp('auth-api').filter((server) => server.startsWith('auth-api-')).length,
    stop() {
      isEnding = true
      return watching
    },
  }
}

/** Returns what Patroni tells of its members; nothing while that server is down. */
async function members({ inside }: ComposeProject): Promise<Member[]> {
  return JSON.parse(await inside('postgres-1', 'patronictl list -f json').catch(() => '[]'))
}

const states = async (project: ComposeProject): Promise<string[]> =>
  (await members(project)).map(({ Role, State }) => `${Role}, ${State}`).toSorted()

const addUsers = ({ inside }: ComposeProject): Promise<string> =>
  inside(
    'postgres-1',
    `psql -q ${PRIMARY_URL} -c "
      insert into users (name, email, username, password, role)
        select 'Ada', name || '@example.com', name, '${hash('sha1', PASSWORD)}', 'user'
        from (select 'actor' || n from generate_series(0, 99) n
          union all select 'ada' || n from generate_series(1, 20000) n) as names (name)"`,
  )

/** Returns the processes that run the services, and their start. */
async function describeProcesses(project: ComposeProject): Promise<string[]> {
  const containers = [
    ...(await project.containersOf('auth-api')),
    ...(await project.containersOf('mailer-worker')),
  ]
  return Promise.all(
    containers.map((container) =>
      docker('inspect', '-f', '{{.State.StartedAt}} {{.RestartCount}}', container),
    ),
  )
}
