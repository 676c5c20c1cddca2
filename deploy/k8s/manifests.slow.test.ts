import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import type { IDeploymentSpec } from 'kubernetes-models/apps/v1'
import type { INetworkPolicySpec } from 'kubernetes-models/networking.k8s.io/v1'
import type { IPodSpec } from 'kubernetes-models/v1'
import { describe, expect, it } from 'vitest'
import { POOL_SIZE } from '../../services/mailer-worker/src/config.ts'
import { findSchemaFaults, findUnknownFields } from './api-schema.ts'
import { type Manifest, nameOf, parseManifests, render } from './manifest.ts'
import { findFaults } from './policy.ts'

const OVERLAYS = [
  'overlays/dev',
  'overlays/dev/migration',
  'overlays/prod',
  'overlays/prod/migration',
  'overlays/prod/database',
]
/** All components that can be listed together beside the settings of prod. */
const COMPONENTS = [
  'gateway',
  'ingress',
  'mail-scaling-keda',
  'mail-scaling-keda-tls',
  'monitoring',
  'tracing',
  'priority',
  'ca-bundle',
  'pull-secret',
  'cloudnative-pg',
]
/** One of what each of these adds. */
const BROUGHT = [
  'HTTPRoute/auth-api',
  'PodMonitor/auth-api',
  'PrometheusRule/latchkey',
  'PriorityClass/latchkey-login',
]
const ROLLOUT_EXAMPLES = ['examples/argo-cd/application.yaml', 'examples/flux.yaml']
const SECRETS_EXAMPLE = 'examples/external-secrets.yaml'

const hasKubectl = isInstalled('kubectl', { args: ['version', '--client'] })
if (!hasKubectl) {
  if (process.env.REQUIRE_DOCKER === '1') throw new Error('kubectl is not installed')
  process.stderr.write('No kubectl: the Kubernetes manifests are not checked.\n')
}

/** The manifests that kubectl rendered, by the folder or the kustomization: it is run once for each. */
const rendered = new Map<string, Manifest[]>()
function renderOnce(what: string, renderIt: () => Manifest[]): Manifest[] {
  const manifests = rendered.get(what) ?? renderIt()
  rendered.set(what, manifests)
  return manifests
}

/** Returns nothing without kubectl, whose tests are skipped. */
const manifestsOf = (folder: string): Manifest[] =>
  hasKubectl ? renderOnce(folder, () => render(join(import.meta.dirname, folder))) : []

const readManifests = (...files: string[]): Manifest[] =>
  files.flatMap((file) => parseManifests(readFileSync(join(import.meta.dirname, file), 'utf8')))

const readDocs = (page: string): string => readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8')

/** Returns a manifest as JSON, by its kind and name. */
const textOf = (name: string, manifests: readonly Manifest[]): string =>
  JSON.stringify(manifests.find((manifest) => nameOf(manifest) === name))

const specOf = <Spec>(name: string, manifests: readonly Manifest[]): Spec =>
  manifests.find((manifest) => nameOf(manifest) === name)?.spec as Spec

/** Returns the settings of an overlay as its config map has them. */
const settingsOf = (overlay: string): Record<string, string> =>
  (manifestsOf(overlay).find(({ kind }) => kind === 'ConfigMap')?.data ?? {}) as Record<string, string>

/** Returns what the group of `pattern` matches in the JSON of `value`. */
const findAll = (value: unknown, pattern: RegExp): string[] =>
  [...JSON.stringify(value).matchAll(pattern)].map(([, found = '']) => found)

const podsIn = (manifests: readonly Manifest[]): Manifest[] =>
  manifests.filter(({ kind }) => ['Deployment', 'Job', 'CronJob', 'PodTemplate'].includes(kind))

describe.skipIf(!hasKubectl).each(OVERLAYS)('%s', (overlay) => {
  const manifests = manifestsOf(overlay)

  it('references only existing config maps, service accounts and scale targets', () => {
    const names = manifests.map(nameOf)
    for (const name of findAll(manifests, /"configMapRef":\{"name":"([^"]+)"/g))
      expect(names).toContain(`ConfigMap/${name}`)
    for (const name of findAll(manifests, /"serviceAccountName":"([^"]+)"/g))
      expect(names).toContain(`ServiceAccount/${name}`)
    for (const { spec } of manifests) {
      const target = (spec as { scaleTargetRef?: { name: string } } | undefined)?.scaleTargetRef
      if (target) expect(names).toContain(`Deployment/${target.name}`)
    }
  })
})

describe.skipIf(!hasKubectl)('the settings of a cluster', () => {
  const settings = settingsOf('overlays/prod')
  const podOf = (name: string): IPodSpec | undefined =>
    specOf<IDeploymentSpec>(`Deployment/${name}`, manifestsOf('overlays/prod')).template.spec

  it.each(['auth-api', 'mailer-worker'])('give %s enough time to stop', (name) => {
    const needed = Number(settings.SHUTDOWN_DELAY) + Number(settings.SHUTDOWN_GRACE)
    expect(podOf(name)?.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needed + 5)
  })

  it.each(['overlays/dev', 'overlays/prod'])('trust the ingress: %s', (overlay) => {
    expect(parseSettings(['TRUST_PROXY'], settingsOf(overlay)).TRUST_PROXY).not.toEqual([])
  })

  it('hash on as many threads as auth-api may have CPUs', () => {
    expect(podOf('auth-api')?.containers[0]?.resources?.limits?.cpu).toBe(settings.HASH_CONCURRENCY)
  })
})

describe.skipIf(!hasKubectl)('the network policies', () => {
  it('let the worker reach each mail server that docs/how-to/connect-a-mail-server.md offers', () => {
    const docs = readDocs('how-to/connect-a-mail-server.md')
    const offered = [...docs.matchAll(/^\| `(smtps?:[^`]+)`/gm)].map(([, url = '']) => new URL(url))
    const { egress = [] } = specOf<INetworkPolicySpec>(
      'NetworkPolicy/allow-mail-server',
      manifestsOf('overlays/prod'),
    )
    const open = egress.flatMap(({ ports = [] }) => ports.map(({ port }) => port))
    // Only the smtps: URL has no port there.
    expect(offered.map(({ port }) => Number(port) || 465).sort()).toEqual(open.sort())
  })
})

/** Renders the base with the settings of prod and the components. */
const renderWith = (components: readonly string[]): Manifest[] =>
  renderKustomization('../base', ['../overlays/prod/settings', ...components.map(toPath)])

/** Renders the migration too. */
const renderAllWith = (components: readonly string[]): Manifest[] => [
  ...renderWith(components),
  ...renderKustomization('../base/migration', ['../overlays/prod/settings', ...components.map(toPath)]),
]

/** Renders the database of prod as it is restored from its archive. */
const recovered = (): Manifest[] =>
  renderKustomization('../overlays/prod/database', [toPath('cloudnative-pg-restore')])

const toPath = (component: string): string => `../components/${component}`

function renderKustomization(resource: string, components: readonly string[]): Manifest[] {
  const kustomization = `resources: [${resource}]\ncomponents: [${components.join(', ')}]\n`
  return renderOnce(kustomization, () => {
    const folder = mkdtempSync(join(import.meta.dirname, '.rendered-'))
    try {
      writeFileSync(join(folder, 'kustomization.yaml'), kustomization)
      return render(folder)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
}

describe.skipIf(!hasKubectl)('the other choices', () => {
  it('give every pod the bundle of authorities, the migration too', () => {
    const manifests = renderAllWith(['ca-bundle'])
    const pods = podsIn(manifests)
    expect(pods).toHaveLength(5)
    for (const pod of pods) expect(JSON.stringify(pod)).toContain('"mountPath":"/etc/latchkey/ca"')
    const settings = manifests.filter(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('latchkey-settings'),
    )
    expect(settings).toHaveLength(2)
    for (const each of settings) expect(JSON.stringify(each)).toContain('NODE_EXTRA_CA_CERTS')
  })

  it('pull every image with the secret of the registry, the migration too', () => {
    const accounts = renderAllWith(['pull-secret']).filter(({ kind }) => kind === 'ServiceAccount')
    expect(accounts).toHaveLength(4)
    for (const account of accounts) expect(account.imagePullSecrets).toEqual([{ name: 'registry' }])
  })

  it('connect to CloudNativePG, each pod with its own login, and the migration as the owner', () => {
    const pods = podsIn(renderAllWith(['cloudnative-pg']))
    const loginsOf = (pod: Manifest) => [
      ...new Set(findAll(pod, /"name":"(latchkey-[\w-]+-(?:login|app))"/g)),
    ]
    expect(Object.fromEntries(pods.map((pod) => [nameOf(pod), loginsOf(pod)]))).toEqual({
      'Deployment/auth-api': ['latchkey-auth-api-login'],
      'Deployment/mailer-worker': ['latchkey-mailer-worker-login'],
      'CronJob/scriptify': ['latchkey-auth-api-login'],
      'PodTemplate/scriptify-debug': ['latchkey-auth-api-login'],
      'Job/migrate': ['latchkey-db-app', 'latchkey-auth-api-login', 'latchkey-mailer-worker-login'],
    })
    expect(JSON.stringify(pods)).not.toMatch(/"key":"DATABASE_URL"/)
  })

  it('scale by Sentinels or a cluster of Redis, by the names that KEDA reads', () => {
    const scaled = (kind: string) => {
      const manifests = renderWith([
        'mail-scaling-keda',
        `mail-scaling-keda-${kind}`,
        'mail-scaling-keda-tls',
      ])
      const trigger = textOf('ScaledObject/mailer-worker', manifests)
      const authentication = manifests.find((each) => nameOf(each) === 'TriggerAuthentication/mail-queue')
      return {
        trigger: /"type":"([\w-]+)"/.exec(trigger)?.[1],
        parameters: findAll(authentication, /"parameter":"(\w+)"/g),
      }
    }
    expect(scaled('sentinel')).toEqual({
      trigger: 'redis-sentinel',
      parameters: ['addresses', 'password', 'sentinelMaster', 'sentinelPassword', 'ca'],
    })
    expect(scaled('cluster')).toEqual({
      trigger: 'redis-cluster',
      parameters: ['addresses', 'password', 'ca'],
    })
  })

  it('carry the label by which kube-prometheus-stack selects monitors and rules', () => {
    const selected = renderWith(['monitoring']).filter(({ apiVersion }) =>
      apiVersion.startsWith('monitoring.coreos.com/'),
    )
    expect(selected).toHaveLength(4)
    for (const { metadata } of selected) expect(metadata).toHaveProperty('labels.release')
  })

  it('scale by a Redis with TLS, which KEDA lets one place only switch on', () => {
    const text = JSON.stringify(renderWith(COMPONENTS))
    expect(text).toContain('"enableTLS":"true"')
    expect(text).toContain('"parameter":"ca"')
    expect(text).not.toContain('"parameter":"tls"')
  })

  it('give auth-api and mailer-worker a priority that exists', () => {
    const manifests = renderWith(COMPONENTS)
    const named = findAll(manifests, /"priorityClassName":"([^"]+)"/g)
    const classes = manifests
      .filter(({ kind }) => kind === 'PriorityClass')
      .map(({ metadata }) => metadata.name)
    expect(named.sort()).toEqual(classes.sort())
    expect(classes).toHaveLength(2)
  })

  it('scrape and reach ports that the pods and the service have, and that the network policies open', () => {
    const manifests = renderWith(COMPONENTS)
    const json = (name: string) => textOf(name, manifests)
    for (const service of ['auth-api', 'mailer-worker']) {
      const [, port = ''] = /"port":"(\w+)"/.exec(json(`PodMonitor/${service}`)) ?? []
      const declared = new RegExp(`"containerPort":(\\d+),"name":"${port}"`)
      const [, number = ''] = declared.exec(json(`Deployment/${service}`)) ?? []
      expect(json('NetworkPolicy/allow-monitoring')).toContain(`"port":${number},`)
      expect(json(`Service/${service}`)).toContain(`"port":${number},`)
    }
    expect(json('Service/auth-api')).toContain('"name":"http","port":80,')
    expect(json('HTTPRoute/auth-api')).toContain('"backendRefs":[{"name":"auth-api","port":80}]')
    expect(json('Ingress/auth-api')).toContain('"port":{"name":"http"}')
  })
})

describe.skipIf(!hasKubectl)('a rollout', () => {
  const migration = manifestsOf('overlays/prod/migration')
  const services = manifestsOf('overlays/prod')
  const waveOf = ({ metadata }: Manifest) =>
    Number(metadata.annotations?.['argocd.argoproj.io/sync-wave'] ?? 0)

  it('migrates with its own resources, so that each tool can apply them first', () => {
    const names = services.map(nameOf)
    expect(migration.map(nameOf).filter((name) => names.includes(name))).toEqual([])
  })

  it('has the migration in the wave after what it needs and before the services', () => {
    const job = migration.find(({ kind }) => kind === 'Job')
    expect(job).toBeDefined()
    for (const manifest of migration) {
      if (manifest !== job) expect(waveOf(manifest), nameOf(manifest)).toBeLessThan(job ? waveOf(job) : 0)
    }
    for (const manifest of services) expect(waveOf(manifest)).toBeGreaterThan(job ? waveOf(job) : 0)
  })

  it('replaces mailer-worker before auth-api, by their waves', () => {
    const wavesOf = (name: string) =>
      services
        .filter((manifest) => nameOf(manifest).endsWith(`/${name}`))
        .map((each) => [each.kind, waveOf(each)])
    expect(wavesOf('mailer-worker')).toContainEqual(['Deployment', 0])
    expect(wavesOf('auth-api')).toContainEqual(['Deployment', 1])
    expect(wavesOf('auth-api')).toContainEqual(['HorizontalPodAutoscaler', 1])
  })

  it('has examples for Argo CD and Flux that apply folders of deploy/k8s/', () => {
    const examples = readManifests(...ROLLOUT_EXAMPLES)
    const paths = findAll(examples, /"path":"(?:\.\/)?deploy\/k8s\/([^"]+)"/g)
    expect(paths).toHaveLength(3)
    for (const path of paths) expect(manifestsOf(path).length).toBeGreaterThan(3)
  })

  it('leaves the namespace and its secrets when it is deleted', () => {
    expect([...services, ...migration].map(({ kind }) => kind)).not.toContain('Namespace')
    const [namespace] = manifestsOf('overlays/prod/namespace')
    expect(JSON.stringify(namespace)).toContain('"pod-security.kubernetes.io/enforce":"restricted"')
  })
})

const CLUSTER = 'Cluster/latchkey-db'
const POOLER = 'Pooler/latchkey-db-pooler'

describe.skipIf(!hasKubectl)('the database of CloudNativePG', () => {
  const database = manifestsOf('overlays/prod/database')
  const cluster = database.find((manifest) => nameOf(manifest) === CLUSTER)

  it('keeps each commit on a second server, and promotes only one that has it', () => {
    expect(cluster?.spec).toMatchObject({
      instances: 3,
      postgresql: {
        synchronous: { method: 'any', number: 1, dataDurability: 'required', failoverQuorum: true },
      },
    })
  })

  it('pools transactions, with the settings that docs name for PgBouncer', () => {
    const docs = readDocs('how-to/run-on-postgresql-with-a-failover.md')
    const rows = docs.matchAll(
      /^\| `(pool_mode|max_prepared_statements|server_login_retry|query_wait_timeout)` \| `?(\w+)/gm,
    )
    const { pool_mode, ...documented } = Object.fromEntries([...rows].map(([, name, value]) => [name, value]))
    const { type, pgbouncer } = specOf<Pooler>(POOLER, database)
    expect(type).toBe('rw')
    expect(pgbouncer.poolMode).toBe(pool_mode)
    expect(Object.keys(documented)).toHaveLength(3)
    expect(pgbouncer.parameters).toMatchObject(documented)
    const [, limit = ''] = /^alter database latchkey (set statement_timeout = '\w+')/m.exec(docs) ?? []
    expect(JSON.stringify(cluster)).toContain(limit)
  })

  it('leaves connections to spare when a pooler is replaced, and takes all from the services', () => {
    const { instances, pgbouncer } = specOf<Pooler>(POOLER, database)
    const logins = ['auth-api', 'mailer-worker'].length
    // One more pooler in a rollout; three admin commands and the migration connect directly.
    const taken = (instances + 1) * logins * Number(pgbouncer.parameters.default_pool_size) + 3 + 2
    expect(taken).toBeLessThanOrEqual(97)
    expect(Number(pgbouncer.parameters.max_client_conn)).toBeGreaterThanOrEqual(83)
  })

  it('is reached through the pooler by the services, and directly by the migration and admins', () => {
    const pods = renderAllWith(['cloudnative-pg'])
    const hostsOf = (name: string) => [
      ...new Set(
        findAll(
          pods.find((pod) => nameOf(pod) === name),
          /@(latchkey-db-\w+):5432/g,
        ),
      ),
    ]
    expect(hostsOf('Deployment/auth-api')).toEqual(['latchkey-db-pooler'])
    expect(hostsOf('Deployment/mailer-worker')).toEqual(['latchkey-db-pooler'])
    expect(hostsOf('Job/migrate')).toEqual(['latchkey-db-rw'])
    expect(hostsOf('CronJob/scriptify')).toEqual(['latchkey-db-rw'])
  })

  it('is reached by TLS only, under names that are in its certificate', () => {
    const urls = renderAllWith(['cloudnative-pg']).flatMap((pod) =>
      [...JSON.stringify(pod).matchAll(/@(latchkey-db-[\w-]+):5432\/app([^"]*)"/g)].map(
        ([, host, options]) => ({ pod, host, options }),
      ),
    )
    expect(urls).toHaveLength(7)
    // The operator adds the names of the services of the cluster.
    const { certificates } = specOf<Certified>(CLUSTER, database)
    for (const { pod, host, options } of urls) {
      expect(['latchkey-db-rw', ...certificates.serverAltDNSNames]).toContain(host)
      const { sslmode, sslrootcert } = Object.fromEntries(new URLSearchParams(options))
      expect(sslmode).toBe('verify-full')
      const text = JSON.stringify(pod)
      expect(text).toContain(`{"mountPath":"${sslrootcert?.replace('/ca.crt', '')}","name":"database-ca"`)
      // The operator's secret has the key of the authority too.
      expect(text).toContain(
        '{"name":"database-ca","secret":{"items":[{"key":"ca.crt","path":"ca.crt"}],"secretName":"latchkey-db-ca"}}',
      )
    }
  })

  it('has the secrets of the logins that the services name', () => {
    const managed = findAll(cluster, /"passwordSecret":\{"name":"([\w-]+)"/g)
    const named = findAll(renderWith(['cloudnative-pg']), /"name":"(latchkey-[\w-]+-login)"/g)
    expect(new Set(managed)).toEqual(new Set(named))
    expect(managed).toHaveLength(2)
  })

  it('is applied apart from the services, whose removal leaves it', () => {
    const services = renderAllWith(COMPONENTS)
    const names = services.map(nameOf)
    expect(database.map(nameOf).filter((name) => names.includes(name))).toEqual([])
    expect(services.filter(({ apiVersion }) => apiVersion.includes('cnpg.io'))).toEqual([])
  })

  it('is backed up to the store that it archives to, which exists', () => {
    const [store] = findAll(cluster, /"barmanObjectName":"([\w-]+)"/g)
    expect(database.map(nameOf)).toContain(`ObjectStore/${store}`)
    const [plugin] = findAll(cluster, /"isWALArchiver":true,"name":"([\w.-]+)"/g)
    expect(database.find(({ kind }) => kind === 'ScheduledBackup')?.spec).toMatchObject({
      cluster: { name: 'latchkey-db' },
      method: 'plugin',
      pluginConfiguration: { name: plugin },
    })
  })

  it('is restored from what it archived, and archives under another name from then on', () => {
    const { bootstrap, externalClusters, plugins } = specOf<Recovered>(CLUSTER, recovered())
    expect(Object.keys(bootstrap)).toEqual(['recovery'])
    const [source] = externalClusters
    expect(bootstrap.recovery.source).toBe(source?.name)
    expect(source?.plugin.parameters.serverName).toBe('latchkey-db')
    expect(plugins[0]?.parameters.serverName).not.toBe('latchkey-db')
    expect(plugins[0]?.parameters.barmanObjectName).toBe(source?.plugin.parameters.barmanObjectName)
  })
})

interface Certified {
  certificates: { serverAltDNSNames: string[] }
}

interface Pooler {
  type: string
  instances: number
  pgbouncer: { poolMode: string; parameters: Record<string, string> }
}

interface ArchivePlugin {
  parameters: Record<string, string>
}

interface Recovered {
  bootstrap: { recovery: { source: string } }
  externalClusters: { name: string; plugin: ArchivePlugin }[]
  plugins: ArchivePlugin[]
}

describe.skipIf(!hasKubectl)('one zone of three may go', () => {
  const manifests = [...manifestsOf('overlays/prod'), ...manifestsOf('overlays/prod/database')]
  const specsOf = (...kinds: string[]) =>
    manifests
      .filter(({ kind }) => kinds.includes(kind))
      .map((each) => [nameOf(each), JSON.stringify(each.spec)])

  it('and each pod has others of its kind in another zone', () => {
    const spread = specsOf('Deployment', 'Pooler', 'Cluster')
    expect(spread).toHaveLength(4)
    for (const [name, spec] of spread)
      expect(spec, name).toContain('"topologyKey":"topology.kubernetes.io/zone"')
    const scaled = specsOf('HorizontalPodAutoscaler', 'ScaledObject')
    expect(scaled).toHaveLength(2)
    for (const [name, spec] of scaled)
      expect(Number(/"minReplica(?:s|Count)":(\d+)/.exec(spec ?? '')?.[1]), name).toBeGreaterThanOrEqual(2)
  })

  it('and a drain leaves all but one of each', () => {
    const budgets = specsOf('PodDisruptionBudget')
    // The operator makes those of the servers of PostgreSQL.
    expect(budgets.map(([name]) => name).sort()).toEqual([
      'PodDisruptionBudget/auth-api',
      'PodDisruptionBudget/latchkey-db-pooler',
      'PodDisruptionBudget/mailer-worker',
    ])
    for (const [name, spec] of budgets) expect(spec, name).toContain('"maxUnavailable":1')
    expect(specsOf('Cluster').join()).not.toContain('"enablePDB":false')
  })
})

describe.skipIf(!hasKubectl)('the most replicas', () => {
  const manifests = manifestsOf('overlays/prod')
  const values = parseSettings(
    ['DATABASE_POOL', 'MAIL_CONCURRENCY', 'MAIL_RATE'],
    settingsOf('overlays/prod'),
  )
  const boundOf = (name: string, field: string) =>
    Number(specOf<Record<string, number>>(name, manifests)?.[field])
  const logins = boundOf('HorizontalPodAutoscaler/auth-api', 'maxReplicas')
  const workers = boundOf('ScaledObject/mailer-worker', 'maxReplicaCount')

  it('have fewer connections than PostgreSQL gives by default, in a rollout and with every admin command', () => {
    for (const name of ['auth-api', 'mailer-worker'])
      expect(textOf(`Deployment/${name}`, manifests)).toContain('"maxSurge":1,')
    // One more of each during a rollout; an admin command or a migration has two at most: its own and that of its lock.
    const services = (logins + 1) * values.DATABASE_POOL + (workers + 1) * POOL_SIZE
    expect(services).toBeGreaterThan(0)
    expect(services + 3 * 2).toBeLessThanOrEqual(97)
  })

  it('of mailer-worker are those that MAIL_RATE allows with a mail server that takes a second for each mail', () => {
    expect(workers).toBe(Math.ceil(values.MAIL_RATE / values.MAIL_CONCURRENCY))
  })
})

describe.skipIf(!hasKubectl)('the base', () => {
  it('names no controller, and reaches no database at a public address', () => {
    const manifests = renderWith([])
    expect(JSON.stringify(manifests)).not.toMatch(/nginx|ingressClassName/)
    const toDatabases = manifests
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .flatMap(({ spec }) => (spec as INetworkPolicySpec).egress ?? [])
      .filter(({ ports = [] }) => ports.some(({ port }) => [5432, 3306, 6379].includes(Number(port))))
    expect(toDatabases.length).toBeGreaterThan(0)
    const servers = { namespaceSelector: { matchLabels: { 'latchkey.example.com/servers': 'true' } } }
    for (const rule of toDatabases) {
      expect(rule.to).toContainEqual(servers)
      expect(rule.to?.length).toBeGreaterThan(0)
      expect(JSON.stringify(rule.to)).not.toMatch(/"(0\.0\.0\.0|::)\/0"/)
    }
  })
})

describe.skipIf(!hasKubectl)('scriptify', () => {
  const manifests = manifestsOf('overlays/prod')
  const find = (kind: string) => manifests.find((manifest) => manifest.kind === kind)

  it.each(['CronJob', 'PodTemplate'])('gets no secret in its %s that it does not need', (kind) => {
    const keys = findAll(find(kind), /"secretKeyRef":{"key":"(\w+)"/g)
    expect(keys).toEqual(['DATABASE_URL', 'QUEUE_URL'])
    expect(JSON.stringify(find(kind))).not.toContain('secretRef')
  })
})

/** Makes a pod of the template, as jq does at the head of debug-pod-template.yaml. */
function debugPodOf(manifests: readonly Manifest[]): Manifest {
  const found = manifests.find(({ kind }) => kind === 'PodTemplate')
  const { template } = found as unknown as { template: Manifest }
  return { ...template, apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name: 'debug' } }
}

it.skipIf(!hasKubectl)('each manifest is what the API accepts, and follows the policy', async () => {
  const manifests = [
    ...OVERLAYS.flatMap(manifestsOf),
    ...renderWith(COMPONENTS),
    ...recovered(),
    ...readManifests(...ROLLOUT_EXAMPLES, SECRETS_EXAMPLE),
    debugPodOf(manifestsOf('overlays/prod')),
  ]
  expect(manifests.map(nameOf)).toEqual(expect.arrayContaining(BROUGHT))
  expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
  expect(findUnknownFields(manifests)).toBe('')
  expect(manifests.flatMap(findFaults)).toEqual([])
})

it.skipIf(!hasKubectl)('has an example of external secrets with each secret that prod needs', () => {
  const brought = readManifests(SECRETS_EXAMPLE).map(({ metadata }) => metadata.name)
  const manifests = [
    ...manifestsOf('overlays/prod'),
    ...manifestsOf('overlays/prod/migration'),
    ...manifestsOf('overlays/prod/database'),
  ]
  const needed = [
    /"(?:passwordSecret|accessKeyId)":\{(?:"key":"\w+",)?"name":"([^"]+)"/g,
    /"secret(?:Key)?Ref":\{(?:"key":"\w+",)?"name":"([^"]+)"/g,
    /"name":"([^"]+)","parameter":/g,
  ].flatMap((pattern) => findAll(manifests, pattern))
  expect([...new Set(needed)].sort()).toEqual(brought.sort())
})

it('has an example of external secrets without a key of tokens for the worker', () => {
  const worker = textOf('ExternalSecret/mailer-worker-secrets', readManifests(SECRETS_EXAMPLE))
  expect(worker).toBeDefined()
  expect(worker).not.toContain('JWT_')
})

/** Changes of the deployment of auth-api, and what the policy says of each. */
const POLICY_FAULTS: readonly [from: string | RegExp, to: string, fault: string][] = [
  ['"runAsNonRoot":true', '"runAsNonRoot":false', 'may run as root'],
  ['"type":"RuntimeDefault"', '"type":"Unconfined"', 'has no seccomp profile'],
  ['"automountServiceAccountToken":false', '"automountServiceAccountToken":true', 'mounts an API token'],
  [/(?<="image":"[^"]*:)[^":]+(?=")/, 'latest', 'auth-api has an image without a fixed tag'],
  [/(?<="limits":\{[^}]*"memory":)"\w+"/, '""', 'auth-api has no limit of memory'],
  [/(?<="requests":\{[^}]*"cpu":)"\w+"/, '""', 'auth-api requests no cpu'],
  ['"readOnlyRootFilesystem":true', '"readOnlyRootFilesystem":false', 'can write its root file system'],
  ['"allowPrivilegeEscalation":false', '"allowPrivilegeEscalation":true', 'may gain privileges'],
  ['"drop":["ALL"]', '"drop":[]', 'keeps capabilities'],
  [
    '"image":',
    '"env":[{"name":"JWT_SECRET","value":"x"}],"image":',
    'has the secret JWT_SECRET in the clear',
  ],
  ['"startupProbe"', '"x"', 'has no startupProbe'],
]

it.each([
  { kind: 'Secret', fields: {}, fault: 'contains a secret; reference one by name' },
  {
    kind: 'ConfigMap',
    fields: { data: { JWT_SECRET: 'x' } },
    fault: 'has the secret JWT_SECRET in the clear',
  },
  {
    kind: 'PodDisruptionBudget',
    fields: { spec: {} },
    fault: 'holds a drain up for pods that are not ready',
  },
  { kind: 'ScaledObject', fields: { spec: {} }, fault: 'has no fallback' },
])('the policy says that a $kind $fault', ({ kind, fields, fault }) => {
  const manifest = { apiVersion: 'v1', kind, metadata: { name: 'x' }, ...fields }
  expect(findFaults(manifest)).toEqual([`${kind}/x ${fault}`])
})

it.skipIf(!hasKubectl)('the checks of this file notice a fault', async () => {
  const deployment = textOf('Deployment/auth-api', manifestsOf('overlays/prod'))
  const change = (from: string | RegExp, to: string): Manifest => JSON.parse(deployment.replace(from, to))
  for (const [from, to, fault] of POLICY_FAULTS) expect(findFaults(change(from, to)).join()).toMatch(fault)
  const job = textOf('Job/migrate', manifestsOf('overlays/prod/migration'))
  const endless = JSON.parse(job.replace('"ttlSecondsAfterFinished"', '"x"'))
  expect(findFaults(endless)).toEqual(['Job/migrate stays for ever when it has finished'])
  const refused = await findSchemaFaults(change('"maxSurge":1', '"maxSurge":true'))
  expect(refused.join()).toMatch(/maxSurge/)
  const database = JSON.stringify(manifestsOf('overlays/prod/database'))
  const changeDatabase = (from: string, to: string): Manifest[] => JSON.parse(database.replace(from, to))
  const unknownMode = changeDatabase('"poolMode":"transaction"', '"poolMode":"statement"')
  expect((await Promise.all(unknownMode.map(findSchemaFaults))).join()).toMatch(/poolMode/)
  const unknown = findUnknownFields([
    change('"livenessProbe"', '"livenesProbe"'),
    ...changeDatabase('"destinationPath"', '"destinationPaht"'),
  ])
  expect(unknown).toMatch(/livenesProbe/)
  expect(unknown).toMatch(/destinationPaht/)
})
