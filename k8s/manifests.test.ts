import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { describe, expect, it } from 'vitest'
import { POOL_SIZE } from '../services/mailer-worker/src/open-service.ts'
import { isInstalled } from '../services/test/support/installed-program.ts'
import { findSchemaFaults, findUnknownFields } from './api-schema.ts'
import { type Manifest, nameOf, parseManifests, render } from './manifest.ts'
import { findFaults } from './policy.ts'

const OVERLAYS = ['overlays/dev', 'overlays/dev/migration', 'overlays/prod', 'overlays/prod/migration']
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

/** What kubectl rendered, by the folder or what it was asked to add: it is run once for each. */
const rendered = new Map<string, Manifest[]>()
function renderOnce(what: string, renderIt: () => Manifest[]): Manifest[] {
  const manifests = rendered.get(what) ?? renderIt()
  rendered.set(what, manifests)
  return manifests
}

const manifestsOf = (folder: string): Manifest[] =>
  renderOnce(folder, () => render(join(import.meta.dirname, folder)))

const readManifests = (...files: string[]): Manifest[] =>
  files.flatMap((file) => parseManifests(readFileSync(join(import.meta.dirname, file), 'utf8')))

describe.skipIf(!hasKubectl).each(OVERLAYS)('%s', (overlay) => {
  const manifests = hasKubectl ? manifestsOf(overlay) : []

  it('is what the API accepts', async () => {
    expect(manifests.length).toBeGreaterThan(3)
    expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
  })

  it('follows the policy', () => {
    expect(manifests.flatMap(findFaults)).toEqual([])
  })

  it('references only existing config maps, service accounts and scale targets', () => {
    const names = manifests.map(nameOf)
    const text = JSON.stringify(manifests)
    for (const [, name] of text.matchAll(/"configMapRef":\{"name":"([^"]+)"/g))
      expect(names).toContain(`ConfigMap/${name}`)
    for (const [, name] of text.matchAll(/"serviceAccountName":"([^"]+)"/g))
      expect(names).toContain(`ServiceAccount/${name}`)
    for (const { spec } of manifests) {
      const target = (spec as { scaleTargetRef?: { name: string } } | undefined)?.scaleTargetRef
      if (target) expect(names).toContain(`Deployment/${target.name}`)
    }
  })
})

describe.skipIf(!hasKubectl)('the settings of a cluster', () => {
  const manifests = hasKubectl ? manifestsOf('overlays/prod') : []
  const settings = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as {
    data: Record<string, string>
  }
  const podOf = (name: string) => {
    const found = manifests.find((manifest) => nameOf(manifest) === `Deployment/${name}`)
    const { spec } = found as unknown as { spec: { template: { spec: Pod } } }
    return spec.template.spec
  }

  it.each(['auth-api', 'mailer-worker'])('give %s enough time to stop', (name) => {
    const { SHUTDOWN_DELAY, SHUTDOWN_GRACE } = settings.data
    const needed = Number(SHUTDOWN_DELAY) + Number(SHUTDOWN_GRACE)
    expect(podOf(name).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(needed + 5)
  })

  it.each(['overlays/dev', 'overlays/prod'])('trust the ingress: %s', (overlay) => {
    const settingsOf = manifestsOf(overlay).find(({ kind }) => kind === 'ConfigMap')
    const { data } = settingsOf as unknown as typeof settings
    expect(parseSettings(['TRUST_PROXY'], data).TRUST_PROXY).not.toEqual([])
  })

  it('hash on as many threads as auth-api may have CPUs', () => {
    expect(podOf('auth-api').containers[0]?.resources.limits.cpu).toBe(settings.data.HASH_CONCURRENCY)
  })
})

describe.skipIf(!hasKubectl)('the network policies', () => {
  it('let the worker reach each mail server that docs/how-to/connect-a-mail-server.md offers', () => {
    const docs = readFileSync(
      join(import.meta.dirname, '..', 'docs', 'how-to', 'connect-a-mail-server.md'),
      'utf8',
    )
    const offered = [...docs.matchAll(/^\| `(smtps?:[^`]+)`/gm)].map(([, url = '']) => new URL(url))
    const policy = manifestsOf('overlays/prod').find(
      (manifest) => nameOf(manifest) === 'NetworkPolicy/allow-mail-server',
    ) as unknown as { spec: { egress: { ports: { port: number }[] }[] } }
    const open = policy.spec.egress.flatMap(({ ports }) => ports.map(({ port }) => port))
    // Only the smtps: URL has no port there.
    expect(offered.map(({ port }) => Number(port) || 465).sort()).toEqual(open.sort())
  })
})

interface Pod {
  terminationGracePeriodSeconds: number
  containers: { resources: { limits: { cpu: string } } }[]
}

/** The base with the settings of prod, and what `lines` add to the kustomization. */
const renderWith = (components: readonly string[], lines = '', resource = '../base'): Manifest[] =>
  renderOnce(JSON.stringify({ components, lines, resource }), () =>
    renderKustomization(components, lines, resource),
  )

function renderKustomization(components: readonly string[], lines: string, resource: string): Manifest[] {
  const folder = mkdtempSync(join(import.meta.dirname, '.rendered-'))
  try {
    const listed = ['../overlays/prod/settings', ...components.map((name) => `../components/${name}`)]
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      `resources: [${resource}]\ncomponents: [${listed.join(', ')}]\n${lines}`,
    )
    return render(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

describe.skipIf(!hasKubectl)('the other choices', () => {
  it('are what the API accepts', async () => {
    const manifests = renderWith(COMPONENTS)
    expect(manifests.map(nameOf)).toEqual(expect.arrayContaining(BROUGHT))
    expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
    expect(manifests.flatMap(findFaults)).toEqual([])
  })

  it('give every pod the bundle of authorities, the migration too', () => {
    const services = renderWith(['ca-bundle'])
    const migration = renderWith(['ca-bundle'], '', '../base/migration')
    const pods = [...services, ...migration].filter(({ kind }) =>
      ['Deployment', 'Job', 'CronJob', 'PodTemplate'].includes(kind),
    )
    expect(pods).toHaveLength(5)
    for (const pod of pods) expect(JSON.stringify(pod)).toContain('"mountPath":"/etc/latchkey/ca"')
    const settings = [...services, ...migration].filter(
      ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.includes('latchkey-settings'),
    )
    expect(settings).toHaveLength(2)
    for (const each of settings) expect(JSON.stringify(each)).toContain('NODE_EXTRA_CA_CERTS')
  })

  it('pull every image with the secret of the registry, the migration too', () => {
    const accounts = [
      ...renderWith(['pull-secret']),
      ...renderWith(['pull-secret'], '', '../base/migration'),
    ].filter(({ kind }) => kind === 'ServiceAccount')
    expect(accounts).toHaveLength(4)
    for (const account of accounts) expect(account.imagePullSecrets).toEqual([{ name: 'registry' }])
  })

  it('connect to CloudNativePG, each pod with its own login, and the migration as the owner', () => {
    const component = ['cloudnative-pg']
    const pods = [...renderWith(component), ...renderWith(component, '', '../base/migration')].filter(
      ({ kind }) => ['Deployment', 'Job', 'CronJob', 'PodTemplate'].includes(kind),
    )
    const loginsOf = (pod: Manifest) => [
      ...new Set(
        [...JSON.stringify(pod).matchAll(/"name":"(latchkey-[\w-]+-(?:login|app))"/g)].map(
          ([, name]) => name,
        ),
      ),
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

  it('carry the label by which kube-prometheus-stack selects monitors and rules', () => {
    const selected = renderWith(['monitoring']).filter(({ apiVersion }) =>
      apiVersion.startsWith('monitoring.coreos.com/'),
    )
    expect(selected).toHaveLength(3)
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
    const named = [...JSON.stringify(manifests).matchAll(/"priorityClassName":"([^"]+)"/g)]
    const classes = manifests
      .filter(({ kind }) => kind === 'PriorityClass')
      .map(({ metadata }) => metadata.name)
    expect(named.map(([, name]) => name).sort()).toEqual(classes.sort())
    expect(classes).toHaveLength(2)
  })

  it('scrape and reach ports that the pods and the service have, and that the network policies open', () => {
    const manifests = renderWith(COMPONENTS)
    const json = (name: string) => JSON.stringify(manifests.find((manifest) => nameOf(manifest) === name))
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

  it('pin images by their digests', () => {
    const digest = `sha256:${'a'.repeat(64)}`
    const lines = `images: [{ name: latchkey/auth-api, newName: registry.example.com/auth-api, digest: '${digest}' }]\n`
    const manifests = renderWith([], lines)
    expect(JSON.stringify(manifests)).toContain(`"image":"registry.example.com/auth-api@${digest}"`)
    expect(manifests.flatMap(findFaults)).toEqual([])
  })
})

describe.skipIf(!hasKubectl)('a rollout', () => {
  const migration = hasKubectl ? manifestsOf('overlays/prod/migration') : []
  const services = hasKubectl ? manifestsOf('overlays/prod') : []
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

  it('has examples for Argo CD and Flux that they accept', async () => {
    const manifests = readManifests(...ROLLOUT_EXAMPLES)
    expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
    const paths = [...JSON.stringify(manifests).matchAll(/"path":"(?:\.\/)?k8s\/([^"]+)"/g)].map(
      ([, path = '']) => path,
    )
    expect(paths).toHaveLength(3)
    for (const path of paths) expect(manifestsOf(path).length).toBeGreaterThan(3)
  })

  it('leaves the namespace and its secrets when it is deleted', () => {
    expect([...services, ...migration].map(({ kind }) => kind)).not.toContain('Namespace')
    const [namespace] = manifestsOf('overlays/prod/namespace')
    expect(JSON.stringify(namespace)).toContain('"pod-security.kubernetes.io/enforce":"restricted"')
  })
})

describe.skipIf(!hasKubectl)('the most replicas', () => {
  const manifests = hasKubectl ? manifestsOf('overlays/prod') : []
  const settings = manifests.find(({ kind }) => kind === 'ConfigMap') as unknown as {
    data: Record<string, string>
  }
  const values = hasKubectl
    ? parseSettings(['DATABASE_POOL', 'MAIL_CONCURRENCY', 'MAIL_RATE'], settings.data)
    : { DATABASE_POOL: 0, MAIL_CONCURRENCY: 0, MAIL_RATE: 0 }
  const boundOf = (name: string, field: string) =>
    Number((manifests.find((manifest) => nameOf(manifest) === name)?.spec as Record<string, number>)?.[field])
  const logins = boundOf('HorizontalPodAutoscaler/auth-api', 'maxReplicas')
  const workers = boundOf('ScaledObject/mailer-worker', 'maxReplicaCount')

  it('have fewer connections than PostgreSQL gives by default, in a rollout and with every admin command', () => {
    for (const name of ['auth-api', 'mailer-worker'])
      expect(
        JSON.stringify(manifests.find((manifest) => nameOf(manifest) === `Deployment/${name}`)),
      ).toContain('"maxSurge":1,')
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
    const policies = manifests.filter(({ kind }) => kind === 'NetworkPolicy')
    const toDatabases = policies.flatMap(
      ({ spec }) =>
        (spec as { egress?: { to?: unknown[]; ports?: { port: number }[] }[] }).egress?.filter(
          ({ ports = [] }) => ports.some(({ port }) => [5432, 3306, 6379].includes(port)),
        ) ?? [],
    )
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
  const manifests = hasKubectl ? manifestsOf('overlays/prod') : []
  const find = (kind: string) => manifests.find((manifest) => manifest.kind === kind)

  it('has a template for a debug pod that the API accepts', async () => {
    const pod = debugPodOf(manifests)
    expect(await findSchemaFaults(pod)).toEqual([])
    expect(JSON.stringify(pod)).toContain('"image":"latchkey/scriptify:')
  })

  it.each(['CronJob', 'PodTemplate'])('gets no secret in its %s that it does not need', (kind) => {
    const keys = [...JSON.stringify(find(kind)).matchAll(/"secretKeyRef":{"key":"(\w+)"/g)].map(
      ([, key]) => key,
    )
    expect(keys).toEqual(['DATABASE_URL', 'QUEUE_URL'])
    expect(JSON.stringify(find(kind))).not.toContain('secretRef')
  })
})

/** What jq does at the head of debug-pod-template.yaml. */
function debugPodOf(manifests: readonly Manifest[]): Manifest {
  const found = manifests.find(({ kind }) => kind === 'PodTemplate')
  const { template } = found as unknown as { template: Manifest }
  return { ...template, apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name: 'debug' } }
}

// One run of the compiler, which takes a quarter of a second for each.
it.skipIf(!hasKubectl)(
  'the overlays, the other choices and the examples have no field that the API does not know',
  () => {
    const manifests = [
      ...OVERLAYS.flatMap(manifestsOf),
      ...renderWith(COMPONENTS),
      ...readManifests(...ROLLOUT_EXAMPLES, SECRETS_EXAMPLE),
      debugPodOf(manifestsOf('overlays/prod')),
    ]
    expect(findUnknownFields(manifests)).toBe('')
  },
)

it.skipIf(!hasKubectl)('has an example of external secrets with each secret that prod needs', () => {
  const brought = readManifests(SECRETS_EXAMPLE).map(({ metadata }) => metadata.name)
  const text = JSON.stringify([...manifestsOf('overlays/prod'), ...manifestsOf('overlays/prod/migration')])
  const needed = [
    ...text.matchAll(/"secret(?:Key)?Ref":\{(?:"key":"\w+",)?"name":"([^"]+)"/g),
    ...text.matchAll(/"name":"([^"]+)","parameter":/g),
  ].map(([, name]) => name)
  expect([...new Set(needed)].sort()).toEqual(brought.sort())
})

it('has an example of external secrets that the operator accepts, and no key of tokens for the worker', async () => {
  const manifests = readManifests(SECRETS_EXAMPLE)
  expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
  const worker = manifests.find(({ metadata }) => metadata.name === 'mailer-worker-secrets')
  expect(worker).toBeDefined()
  expect(JSON.stringify(worker)).not.toContain('JWT_')
})

it.skipIf(!hasKubectl)('the checks of this file notice a fault', async () => {
  const found = manifestsOf('overlays/prod').find((each) => nameOf(each) === 'Deployment/auth-api')
  const change = (from: string, to: string): Manifest => JSON.parse(JSON.stringify(found).replace(from, to))
  expect(findFaults(change('"runAsNonRoot":true', '"runAsNonRoot":false')).join()).toMatch(/run as root/)
  const refused = await findSchemaFaults(change('"maxSurge":1', '"maxSurge":true'))
  expect(refused.join()).toMatch(/maxSurge/)
  expect(findUnknownFields([change('"livenessProbe"', '"livenesProbe"')])).toMatch(/livenesProbe/)
})
