import { hash, randomUUID } from 'node:crypto'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type ComposeProject, startProject } from '@latchkey/test-support/compose-project.ts'
import { type Answer, type Load, PASSWORD, startLoad } from '@latchkey/test-support/failover-load.ts'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { docker, logsOf } from '@latchkey/test-support/images.ts'
import { openMailbox } from '@latchkey/test-support/mailbox.ts'
import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import { expect, it, onTestFinished } from 'vitest'

const EXAMPLE = '../docs/examples/high-availability'
const SERVERS = ['postgres-1', 'postgres-2', 'postgres-3']
const OTHER = '--host haproxy --port 5433'
const STANDBY = '--set standby_cluster.host=haproxy --set standby_cluster.port=5433'
/** A switch and a return take seconds; a busy machine needs longer. */
const TIMEOUT = { timeout: 180_000, interval: 500 }
/** The time for which the regions are apart before one dies. */
const APART_MS = 3_000
/** The clock of PostgreSQL tells when a commit began to be written, and a client hears of it later. */
const CLOCK_MS = 100

it('switches to the other region without a loss, and loses what was not yet there when a region dies', async () => {
  await using mailbox = await openMailbox('0.0.0.0')
  const regions = `latchkey-regions-${randomUUID().slice(0, 8)}`
  await docker('network', 'create', regions)
  await docker('volume', 'create', regions)
  onTestFinished(async () => {
    await docker('network', 'rm', regions)
    await docker('volume', 'rm', regions)
  })
  await sharedServer('patroni-image')
  const environment = { REGIONS: regions, MAIL_URL: `smtp://host.docker.internal:${mailbox.port}` }
  const a = await startRegion('a', { ...environment, DATABASE_ROLE: 'primary', COMPOSE_PROFILES: 'active' })
  const b = await startRegion('b', { ...environment, DATABASE_ROLE: 'standby', COMPOSE_PROFILES: '' })
  await expect.poll(() => rolesOf(b), TIMEOUT).toEqual(['Replica', 'Replica', 'Standby Leader'])
  await addUsers(a)

  await using ingress = await startIngress(a)
  const load = startLoad(ingress.url)
  const moves = async (what: string, move: () => Promise<unknown>) => {
    await expect.poll(() => successes(load).length, TIMEOUT).toBeGreaterThan(20)
    await wait(5_000)
    const [from, at] = [load.answers.length, Date.now()]
    await move()
    const movedAt = Date.now()
    await expect
      .poll(() => successes(load).filter(({ endedAt }) => endedAt > movedAt).length, TIMEOUT)
      .toBeGreaterThan(20)
    // Longer than a replica remembers a token.
    await wait(8_000)
    const answers = load.answers.slice(from)
    rows.push({
      what,
      sent: answers.length,
      acknowledged: answers.filter(({ status }) => status >= 200 && status < 300).length,
      lost: load.lost.length,
      'no answer, s': Math.round(longestGap(load, at) / 100) / 10,
    })
  }
  const rows: object[] = []

  await moves('planned, from A to B', () => switchOver(a, b, 'region-b').then(() => ingress.lead(b)))
  await expect.poll(() => rolesOf(b), TIMEOUT).toEqual(['Leader', 'Replica', 'Sync Standby'])
  await moves('planned, back to A', () => switchOver(b, a, 'region-a').then(() => ingress.lead(a)))
  expect(load.lost).toEqual([])

  const lag = await longestLag(a)
  const died = { from: 0, at: 0, containers: [''] }
  await moves('A dies', async () => {
    await docker('network', 'disconnect', regions, await containerOf(b, 'haproxy'))
    await wait(APART_MS)
    died.containers = await containersOf(a)
    died.from = Date.now()
    await docker('kill', ...died.containers)
    died.at = Date.now()
    await docker('network', 'connect', '--alias', 'region-b', regions, await containerOf(b, 'haproxy'))
    await promote(b)
    ingress.lead(b)
  })
  await load.end()
  const replicatedAt = Number(
    await query(b, 'haproxy', 'select extract(epoch from pg_last_xact_replay_timestamp()) * 1000'),
  )
  const unsent = () => load.resets.filter(({ what }) => mailbox.to(what).length === 0)
  await expect.poll(() => unsent().filter(({ at }) => at < replicatedAt - CLOCK_MS), TIMEOUT).toEqual([])
  const lost = [...load.lost, ...unsent()]
  console.table(rows)
  console.table([
    {
      'usual lag, ms': lag,
      'lag when A died, ms': Math.round(died.at - replicatedAt),
      lost: lost.length,
      'of these mails': unsent().length,
      mails: load.resets.length,
      twice: load.resets.filter(({ what }) => mailbox.to(what).length > 1).length,
      'refused, 503': load.answers.filter(({ status }) => status === 503).length,
    },
  ])
  expect(lost.filter(({ at }) => at < replicatedAt - CLOCK_MS)).toEqual([])
  // The containers die one by one, and HAProxy may be the last.
  const isOfDeath = ({ status, endedAt }: Answer) =>
    status === 502 && endedAt >= died.from && endedAt <= died.at
  const isRefused = ({ status }: Answer) => status >= 400 && ![401, 503].includes(status)
  expect(load.answers.filter((answer) => isRefused(answer) && !isOfDeath(answer))).toEqual([])

  // A comes back by itself, with services that could write.
  await docker('start', ...died.containers)
  await expect.poll(() => refusalsToPromote(died.containers), TIMEOUT).toBeGreaterThan(1)
  for (let second = 0; second < 20; second++) {
    const { status } = await logIn(a)
    expect([0, 503]).toContain(status)
    expect(await primariesOf(a)).toEqual([])
    await wait(1_000)
  }
  await a.inside('postgres-1', `patronictl edit-config --force --quiet ${STANDBY}`)
  await expect.poll(() => rolesOf(a), TIMEOUT).toEqual(['Replica', 'Replica', 'Standby Leader'])
  await expect.poll(() => usersIn(a), TIMEOUT).toBe(await usersIn(b))
  await expect.poll(() => rolesOf(b), TIMEOUT).toEqual(['Leader', 'Replica', 'Sync Standby'])
}, 1_800_000)

/** The steps of docs/how-to/run-in-two-regions.md. */
async function switchOver(from: ComposeProject, to: ComposeProject, region: string): Promise<void> {
  await from.compose('stop', 'auth-api', 'mailer-worker')
  await expect.poll(() => bytesBehind(from, region), TIMEOUT).toBe('0')
  await from.inside('postgres-1', `patronictl demote-cluster --force ${OTHER}`)
  await promote(to)
}

async function promote(to: ComposeProject): Promise<void> {
  await to.inside('postgres-1', 'patronictl promote-cluster --force')
  await to.compose('up', '--wait', '--no-deps', 'auth-api', 'mailer-worker')
}

const startRegion = async (name: 'a' | 'b', environment: Record<string, string>): Promise<ComposeProject> =>
  startProject({
    base: `${EXAMPLE}/compose.yml`,
    files: [`${EXAMPLE}/two-regions/compose.yml`, '../test-support/faults.compose.yml'],
    environment: {
      ...environment,
      REGION: `region-${name}`,
      OTHER_REGION: `region-${name === 'a' ? 'b' : 'a'}`,
      HAPROXY_STATS_PORT: `127.0.0.1:${await findFreePort()}`,
    },
  })

/** Starts the proxy that leads the clients to a region. */
async function startIngress(first: ComposeProject) {
  let region = new URL(first.api)
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    clients.add(client)
    client.on('close', () => clients.delete(client))
    const upstream = connect(Number(region.port), region.hostname)
    client.on('error', () => upstream.destroy())
    upstream.on('error', () => client.destroy())
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lead(to: ComposeProject) {
      region = new URL(to.api)
      // A client that keeps its connection would stay in the other region.
      for (const client of clients) client.destroy()
    },
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}

const successes = ({ answers }: Load) =>
  answers.filter(({ kind, status }) => kind !== 'ping' && status >= 200 && status < 300)

function longestGap(load: Load, from: number): number {
  const ends = successes(load)
    .map(({ endedAt }) => endedAt)
    .filter((endedAt) => endedAt >= from - 1_000)
    .toSorted((x, y) => x - y)
  return Math.max(...ends.slice(1).map((end, index) => end - (ends[index] ?? end)))
}

/** The role of each member, without those that do not stream. */
async function rolesOf({ inside }: ComposeProject): Promise<string[]> {
  const list = await inside('postgres-1', 'patronictl list -f json').catch(() => '[]')
  const members: { Role: string; State: string }[] = JSON.parse(list)
  return members
    .filter(({ State }) => ['running', 'streaming'].includes(State))
    .map(({ Role }) => Role)
    .toSorted()
}

/** The servers that accept changes, whatever Patroni says. */
async function primariesOf({ inside }: ComposeProject): Promise<string[]> {
  const ask = (server: string) =>
    inside(server, 'psql -AtX -U postgres -c "select pg_is_in_recovery()"').catch(() => '')
  const answers = await Promise.all(SERVERS.map(ask))
  return SERVERS.filter((_, index) => answers[index] === 'f')
}

const query = ({ inside }: ComposeProject, host: string, sql: string): Promise<string> =>
  inside('postgres-1', `psql -AtX postgres://postgres:postgres@${host}/latchkey -c "${sql}"`)

/** Returns what `region` has not replayed; nothing while it does not stream. */
const bytesBehind = (primary: ComposeProject, region: string): Promise<string> =>
  query(
    primary,
    'haproxy',
    `select pg_current_wal_lsn() - replay_lsn from pg_stat_replication where application_name ~ '^${region}'`,
  )

async function longestLag(primary: ComposeProject): Promise<number> {
  const seen: number[] = []
  for (let sample = 0; sample < 20; sample++) {
    const text = await query(
      primary,
      'haproxy',
      "select coalesce(max(extract(epoch from replay_lag)) * 1000, 0) from pg_stat_replication where application_name ~ 'region-b'",
    )
    seen.push(Number(text))
    await wait(200)
  }
  return Math.round(Math.max(...seen))
}

/** A digest of what the users of a region have, from any of its servers. */
const usersIn = ({ inside }: ComposeProject): Promise<string> =>
  inside(
    'postgres-1',
    `psql -AtX -U postgres latchkey -c "select md5(string_agg(userid || name || password, '' order by userid)) from users"`,
  )

async function refusalsToPromote(containers: readonly string[]): Promise<number> {
  const logs = await Promise.all(containers.map(logsOf))
  return logs.join('\n').match(/pre_promote script .* exited with 1/g)?.length ?? 0
}

async function logIn({ api }: ComposeProject): Promise<{ status: number }> {
  const body = JSON.stringify({ username: 'actor0@example.com', password: PASSWORD })
  const headers = { 'content-type': 'application/json' }
  return fetch(`${api}/login`, { method: 'POST', headers, body }).catch(() => ({ status: 0 }))
}

async function containerOf(project: ComposeProject, service: string): Promise<string> {
  const [container = ''] = await project.containersOf(service)
  return container
}

const containersOf = async ({ compose }: ComposeProject): Promise<string[]> =>
  (await compose('ps', '--quiet')).split('\n')

const addUsers = (region: ComposeProject): Promise<string> =>
  query(
    region,
    'haproxy',
    `insert into users (name, email, username, password, role)
      select 'Ada', name || '@example.com', name, '${hash('sha1', PASSWORD)}', 'user'
      from (select 'actor' || n from generate_series(0, 99) n
        union all select 'ada' || n from generate_series(1, 20000) n) as names (name)`,
  )
