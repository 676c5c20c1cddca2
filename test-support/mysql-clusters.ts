import mysql from 'mysql2/promise'
import {
  GenericContainer,
  getContainerRuntimeClient,
  Network,
  type StartedTestContainer,
  Wait,
} from 'testcontainers'
import { findFreePort } from './free-port.ts'
import { waitFor } from './wait-for.ts'

/** Clusters whose nodes all take changes. */
export const CLUSTERS = ['galera', 'group-replication'] as const
export type ClusterKind = (typeof CLUSTERS)[number]

export interface ClusterNode {
  /** With the rights of its administrator. */
  url: string
  query(sql: string): Promise<Record<string, unknown>[]>
  kill(): Promise<void>
  pause(): Promise<void>
  /** Lets a node that was paused go on, until it has joined the others again. */
  unpause(): Promise<void>
  /** Starts a node that was killed, which joins the others by itself. */
  start(): Promise<void>
  /** Lets a node that has lost the majority of its cluster be the cluster, as an operator does. */
  becomeCluster(): Promise<void>
  isSynced(): Promise<boolean>
  /** True where the cluster, as this node sees it, has so many nodes. */
  isOneOf(nodes: number): Promise<boolean>
}

export interface MysqlCluster extends AsyncDisposable {
  nodes: readonly ClusterNode[]
}

const NAMES = ['node1', 'node2', 'node3']
const PASSWORD = 'root'
const DATABASE = 'latchkey'
const GROUP = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee'

/**
 * Three nodes, each a container; all of them take changes, and a read waits for what others have committed. One that is
 * silent for `silenceSeconds` is left out.
 */
export async function startCluster(kind: ClusterKind, silenceSeconds = 20): Promise<MysqlCluster> {
  const network = await new Network().start()
  const { image, command, join } = KINDS[kind]
  const [first = '', ...others] = NAMES
  const found: ClusterNode[] = []
  const containers: StartedTestContainer[] = []
  /** Lets a new node join as soon as it answers. */
  async function joinOnce(node: ClusterNode, as: Parameters<typeof join>[1]): Promise<void> {
    const answers = () =>
      node.query('select 1').then(
        () => true,
        () => false,
      )
    await waitFor(answers)
    await join(node, as)
    await waitFor(node.isSynced)
  }

  async function startNode(name: string, index: number): Promise<void> {
    const port = await findFreePort()
    const container = await new GenericContainer(image)
      .withNetwork(network)
      .withNetworkAliases(name)
      .withExposedPorts({ container: 3306, host: port })
      .withEnvironment({ MYSQL_ROOT_PASSWORD: PASSWORD, MYSQL_DATABASE: DATABASE })
      .withEntrypoint(['bash', '-c'])
      .withCommand([command(name, index, silenceSeconds)])
      .withWaitStrategy(Wait.forSuccessfulCommand('true'))
      .start()
    containers.push(container)
    const node = await createNode(container, port, kind)
    found[index] = node
    await joinOnce(node, index === 0 ? 'first' : 'new')
  }
  await startNode(first, 0)
  await Promise.all(others.map((name, index) => startNode(name, index + 1)))
  // On a busy machine a node may be silent while another one starts: it is left out, and joins again.
  for (const node of found)
    await waitFor(async () => (await node.isOneOf(found.length)) && (await node.isSynced()))
  const nodes = found.map((node, index) => ({
    ...node,
    async start() {
      await node.start()
      await waitFor(node.isSynced)
    },
    async unpause() {
      await node.unpause()
      const other = found[(index + 1) % found.length] as ClusterNode
      const isBack = () => other.isOneOf(found.length)
      await waitFor(isBack).catch(() => KINDS[kind].rejoin(node))
      await waitFor(isBack)
      await waitFor(node.isSynced)
    },
  }))
  return {
    nodes,
    async [Symbol.asyncDispose]() {
      await Promise.all(containers.map((container) => container.stop({ timeout: 0 })))
      await network.stop()
    },
  }
}

async function createNode(
  container: StartedTestContainer,
  port: number,
  kind: ClusterKind,
): Promise<ClusterNode> {
  const { synced, members, becomeCluster } = KINDS[kind]
  const { container: engine } = await getContainerRuntimeClient()
  const handle = engine.getById(container.getId())
  const url = `mysql://root:${PASSWORD}@127.0.0.1:${port}/${DATABASE}`
  async function query(sql: string) {
    const connection = await mysql.createConnection({
      uri: url,
      connectTimeout: 3_000,
      multipleStatements: true,
    })
    connection.on('error', () => undefined)
    try {
      const [rows] = await connection.query(sql)
      return rows as Record<string, unknown>[]
    } finally {
      connection.destroy()
    }
  }
  const finds = (sql: string) =>
    query(sql).then(
      (rows) => rows.length === 1,
      () => false,
    )
  return {
    url,
    query,
    kill: () => handle.kill(),
    pause: () => handle.pause(),
    unpause: () => handle.unpause(),
    start: () => handle.start(),
    becomeCluster: async () => void (await query(becomeCluster)),
    isSynced: () => finds(synced),
    isOneOf: (nodes) => finds(members(nodes)),
  }
}

interface Kind {
  image: string
  command(name: string, index: number, silenceSeconds: number): string
  /** Finds one row where the node is synced. */
  synced: string
  /** Finds one row where the cluster has so many nodes. */
  members(count: number): string
  becomeCluster: string
  /** Lets a new node join the others. */
  join(node: Pick<ClusterNode, 'query'>, as: 'first' | 'new'): Promise<unknown>
  /** Lets a node that was left out join the others by hand. */
  rejoin(node: Pick<ClusterNode, 'query'>): Promise<unknown>
}

const galera = (name: string, silenceSeconds: number) =>
  [
    'docker-entrypoint.sh mariadbd --wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so',
    `--wsrep-cluster-name=latchkey --wsrep-cluster-address=gcomm://${NAMES.join(',')}`,
    `--wsrep-node-name=${name} --wsrep-sst-method=rsync --wsrep-sync-wait=1`,
    '--binlog-format=ROW --innodb-autoinc-lock-mode=2 --innodb-flush-log-at-trx-commit=0',
    `--wsrep-provider-options='evs.suspect_timeout=PT${silenceSeconds}S; evs.inactive_timeout=PT${2 * silenceSeconds}S'`,
  ].join(' ')

/** The first node creates its files, once; the others receive them. */
const prepareGalera = `if [ ! -d /var/lib/mysql/mysql ]; then
  docker-entrypoint.sh mariadbd &
  until mariadb-admin -h127.0.0.1 -uroot -p${PASSWORD} ping 2>/dev/null; do sleep 0.2; done
  mariadb-admin -h127.0.0.1 -uroot -p${PASSWORD} shutdown; wait
  NEW=--wsrep-new-cluster
fi`
const receiveGalera =
  'mkdir -p /var/lib/mysql/mysql /run/mysqld && chown -R mysql:mysql /var/lib/mysql /run/mysqld'

/**
 * A node that was a member joins its group when it starts, and only reads until then. A change that it accepted alone would
 * keep it out for ever. The files of a new node do not exist yet.
 */
const START_ON_BOOT = '$([ -d /var/lib/mysql/mysql ] && echo ON || echo OFF)'

/** Begins a group, of Group Replication. */
const BOOTSTRAP = `set global group_replication_bootstrap_group = on;
  start group_replication; set global group_replication_bootstrap_group = off`

const KINDS: Record<ClusterKind, Kind> = {
  galera: {
    image: 'mariadb:11.8',
    command: (name, index, silenceSeconds) =>
      `${index === 0 ? prepareGalera : receiveGalera}\nexec ${galera(name, silenceSeconds)} $NEW`,
    synced: "show status where variable_name = 'wsrep_local_state_comment' and value = 'Synced'",
    members: (count) => `show status where variable_name = 'wsrep_cluster_size' and value = ${count}`,
    becomeCluster: 'set global wsrep_provider_pc_bootstrap = on',
    join: async () => undefined,
    rejoin: async () => undefined,
  },
  'group-replication': {
    image: 'mysql:9',
    command: (name, index, silenceSeconds) =>
      [
        `exec docker-entrypoint.sh mysqld --server-id=${index + 1} --report-host=${name}`,
        `--gtid-mode=ON --enforce-gtid-consistency=ON --loose-group-replication-start-on-boot=${START_ON_BOOT}`,
        `--plugin-load-add=group_replication.so --loose-group-replication-group-name=${GROUP}`,
        `--loose-group-replication-local-address=${name}:33061`,
        `--loose-group-replication-group-seeds=${NAMES.map((each) => `${each}:33061`).join(',')}`,
        '--loose-group-replication-single-primary-mode=OFF --loose-group-replication-enforce-update-everywhere-checks=ON',
        '--loose-group-replication-recovery-get-public-key=ON --loose-group-replication-consistency=BEFORE',
        // A node that leaves its group this way answers from what it had: it must not happen for want of a processor.
        `--loose-group-replication-unreachable-majority-timeout=${silenceSeconds + 2}`,
        `--loose-group-replication-member-expel-timeout=${silenceSeconds}`,
        '--innodb-flush-log-at-trx-commit=0 --sync-binlog=0 --innodb-buffer-pool-size=64M',
      ].join(' '),
    synced: `select 1 from performance_schema.replication_group_members
      where member_id = @@server_uuid and member_state = 'ONLINE'`,
    members: (count) =>
      `select count(*) from performance_schema.replication_group_members having count(*) = ${count}`,
    becomeCluster: `stop group_replication; ${BOOTSTRAP}`,
    join: async (node, as) => {
      // The transactions of each container's set-up would be changes that the group does not have.
      await node.query(`reset binary logs and gtids; change replication source to source_user = 'root',
        source_password = '${PASSWORD}' for channel 'group_replication_recovery'`)
      await node.query(as === 'first' ? BOOTSTRAP : 'start group_replication')
    },
    // After a first attempt that failed, a node itself tries again only five minutes later.
    rejoin: (node) => node.query('stop group_replication; start group_replication'),
  },
}
