import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { describe, expect, it } from 'vitest'
import { findSchemaFaults, findUnknownFields } from './api-schema.ts'
import { type Manifest, nameOf, parseManifests, render } from './manifest.ts'
import { findFaults } from './policy.ts'

const OVERLAYS = ['overlays/dev', 'overlays/dev/migration', 'overlays/prod', 'overlays/prod/migration']

const hasKubectl = answers('kubectl', ['version', '--client'])
if (!hasKubectl) {
  if (process.env.REQUIRE_DOCKER === '1') throw new Error('kubectl is not installed')
  process.stderr.write('No kubectl: the Kubernetes manifests are not checked.\n')
}

describe.skipIf(!hasKubectl).each(OVERLAYS)('%s', (overlay) => {
  const manifests = hasKubectl ? render(join(import.meta.dirname, overlay)) : []

  it('is what the API accepts, with no field it does not know', async () => {
    expect(manifests.length).toBeGreaterThan(5)
    expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
    expect(findUnknownFields(manifests)).toBe('')
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
  const manifests = hasKubectl ? render(join(import.meta.dirname, 'overlays/prod')) : []
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
    const settingsOf = render(join(import.meta.dirname, overlay)).find(({ kind }) => kind === 'ConfigMap')
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
    const policy = render(join(import.meta.dirname, 'overlays/prod')).find(
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

describe.skipIf(!hasKubectl)('the other choices', () => {
  it.each([
    { component: 'mail-scaling-prometheus', brings: 'HorizontalPodAutoscaler/mailer-worker' },
    { component: 'tracing', brings: 'NetworkPolicy/allow-collector' },
    { component: 'monitoring', brings: 'PrometheusRule/latchkey' },
  ])('are what the API accepts: $component', async ({ component, brings }) => {
    const folder = mkdtempSync(join(import.meta.dirname, '.rendered-'))
    try {
      writeFileSync(
        join(folder, 'kustomization.yaml'),
        `resources: [../base]\ncomponents: [../overlays/prod/settings, ../components/${component}]\n`,
      )
      const manifests = render(folder)
      expect(manifests.map(nameOf)).toContain(brings)
      expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
      expect(findUnknownFields(manifests)).toBe('')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe.skipIf(!hasKubectl)('scriptify', () => {
  const manifests = hasKubectl ? render(join(import.meta.dirname, 'overlays/prod')) : []
  const find = (kind: string) => manifests.find((manifest) => manifest.kind === kind)

  it('has a template for a debug pod that the API accepts', async () => {
    // What jq does at the head of debug-pod-template.yaml.
    const { template } = find('PodTemplate') as unknown as { template: Manifest }
    const metadata = { ...template.metadata, name: 'debug' }
    const pod: Manifest = { ...template, apiVersion: 'v1', kind: 'Pod', metadata }
    expect(await findSchemaFaults(pod)).toEqual([])
    expect(findUnknownFields([pod])).toBe('')
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

it('has an example of external secrets that the operator accepts, and no JWT_SECRET for the worker', async () => {
  const path = join(import.meta.dirname, 'examples/external-secrets.yaml')
  const manifests = parseManifests(readFileSync(path, 'utf8'))
  expect((await Promise.all(manifests.map(findSchemaFaults))).flat()).toEqual([])
  expect(findUnknownFields(manifests)).toBe('')
  const worker = manifests.find(({ metadata }) => metadata.name === 'mailer-worker-secrets')
  expect(worker).toBeDefined()
  expect(JSON.stringify(worker)).not.toContain('JWT_SECRET')
})

describe('the checks notice', () => {
  const container = {
    name: 'app',
    image: 'example/app:1.0.0',
    startupProbe: {},
    readinessProbe: {},
    livenessProbe: {},
    resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
  }
  const podSecurity = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
  const aDeployment = (change: object = {}, podChange: object = {}): Manifest => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'app' },
    spec: {
      selector: { matchLabels: { app: 'app' } },
      template: {
        metadata: { labels: { app: 'app' } },
        spec: {
          automountServiceAccountToken: false,
          securityContext: podSecurity,
          containers: [{ ...container, ...change }],
          ...podChange,
        },
      },
    },
  })

  it('nothing in a valid manifest', async () => {
    expect(findFaults(aDeployment())).toEqual([])
    expect(await findSchemaFaults(aDeployment())).toEqual([])
    expect(findUnknownFields([aDeployment()])).toBe('')
  })

  it.each([
    ['latest', { image: 'example/app:latest' }, {}, /fixed tag/],
    ['no tag behind a port', { image: 'host:5000/app' }, {}, /fixed tag/],
    ['no limits', { resources: { requests: { cpu: '1', memory: '1Gi' } } }, {}, /no limit of cpu/],
    ['no requests', { resources: { limits: { cpu: '1', memory: '1Gi' } } }, {}, /requests no cpu/],
    ['a missing probe', { livenessProbe: undefined }, {}, /no livenessProbe/],
    ['a writable root', { securityContext: {} }, {}, /write its root/],
    ['privilege escalation', { securityContext: {} }, {}, /gain privileges/],
    ['capabilities', { securityContext: {} }, {}, /keeps capabilities/],
    ['root', {}, { securityContext: {} }, /run as root/],
    ['no seccomp', {}, { securityContext: { runAsNonRoot: true } }, /seccomp/],
    ['an API token', {}, { automountServiceAccountToken: undefined }, /API token/],
    ['a plain secret', { env: [{ name: 'JWT_SECRET', value: 'x' }] }, {}, /JWT_SECRET in the clear/],
    ['an init container', {}, { initContainers: [{ name: 'i', image: 'x' }] }, /i has an image/],
  ])('%s', (_, change, podChange, fault) => {
    expect(findFaults(aDeployment(change, podChange)).join()).toMatch(fault)
  })

  it('a Secret and a secret in a ConfigMap', () => {
    const metadata = { name: 'x' }
    expect(findFaults({ apiVersion: 'v1', kind: 'Secret', metadata })).toHaveLength(1)
    const data = { DATABASE_URL: 'x' }
    expect(findFaults({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data })).toHaveLength(1)
  })

  it('what the API refuses or does not know', async () => {
    const wrongType = { ...aDeployment(), spec: { replicas: 'two' } }
    expect((await findSchemaFaults(wrongType)).join()).toMatch(/replicas|selector/)
    expect(findUnknownFields([aDeployment({ livenesProbe: {} })])).toMatch(/livenesProbe/)
    const unknownKind = { apiVersion: 'keda.sh/v1alpha1', kind: 'Nonsense', metadata: { name: 'x' } }
    expect(await findSchemaFaults(unknownKind)).toHaveLength(1)
    const noTriggers = { ...unknownKind, kind: 'ScaledObject', spec: { scaleTargetRef: { name: 'x' } } }
    expect((await findSchemaFaults(noTriggers)).join()).toMatch(/triggers/)
  })
})

function answers(command: string, args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
