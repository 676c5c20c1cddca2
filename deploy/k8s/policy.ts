import { z } from 'zod'
import { type Manifest, nameOf } from './manifest.ts'

const Probe = z.record(z.string(), z.unknown())

const Container = z.object({
  name: z.string(),
  image: z.string(),
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })).default([]),
  startupProbe: Probe.optional(),
  readinessProbe: Probe.optional(),
  livenessProbe: Probe.optional(),
  resources: z
    .object({
      requests: z.record(z.string(), z.unknown()).default({}),
      limits: z.record(z.string(), z.unknown()).default({}),
    })
    .default({ requests: {}, limits: {} }),
  securityContext: z
    .object({
      allowPrivilegeEscalation: z.boolean().optional(),
      readOnlyRootFilesystem: z.boolean().optional(),
      capabilities: z.object({ drop: z.array(z.string()).default([]) }).optional(),
    })
    .default({}),
})

const PodSpec = z.object({
  automountServiceAccountToken: z.boolean().optional(),
  securityContext: z
    .object({
      runAsNonRoot: z.boolean().optional(),
      seccompProfile: z.object({ type: z.string() }).optional(),
    })
    .default({}),
  containers: z.array(Container),
  initContainers: z.array(Container).default([]),
})

type Container = z.output<typeof Container>

/** The path of the pod's specification in each kind. */
const POD_PATHS: Record<string, readonly string[]> = {
  Pod: ['spec'],
  PodTemplate: ['template', 'spec'],
  Deployment: ['spec', 'template', 'spec'],
  StatefulSet: ['spec', 'template', 'spec'],
  Job: ['spec', 'template', 'spec'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
}

/** The path of the job's specification. */
const JOB_PATHS: Record<string, readonly string[]> = {
  Job: ['spec'],
  CronJob: ['spec', 'jobTemplate', 'spec'],
}

/** Kinds whose pods run until they are stopped, and therefore need probes. */
const LONG_RUNNING = ['Deployment', 'StatefulSet']

/** Describes each violation of the policy in a manifest. */
export function findFaults(manifest: Manifest): string[] {
  const path = POD_PATHS[manifest.kind]
  const faults = path ? findPodFaults(manifest.kind, PodSpec.parse(dig(manifest, path))) : []
  const job = JOB_PATHS[manifest.kind]
  if (job && !Object.hasOwn(z.looseObject({}).parse(dig(manifest, job)), 'ttlSecondsAfterFinished'))
    faults.push('stays for ever when it has finished')
  const spec = z.looseObject({}).parse(manifest.spec ?? {})
  if (manifest.kind === 'PodDisruptionBudget' && spec.unhealthyPodEvictionPolicy !== 'AlwaysAllow')
    faults.push('holds a drain up for pods that are not ready')
  if (manifest.kind === 'ScaledObject' && !spec.fallback) faults.push('has no fallback')
  if (manifest.kind === 'Secret') faults.push('contains a secret; reference one by name')
  if (manifest.kind === 'ConfigMap') {
    const names = Object.keys(z.record(z.string(), z.string()).parse(manifest.data ?? {}))
    faults.push(...names.filter(isSecretName).map((name) => `has the secret ${name} in the clear`))
  }
  return faults.map((fault) => `${nameOf(manifest)} ${fault}`)
}

function findPodFaults(kind: string, pod: z.output<typeof PodSpec>): string[] {
  const containers = [...pod.containers, ...pod.initContainers]
  const faults = containers.flatMap((container) =>
    findContainerFaults(container).map((fault) => `${container.name} ${fault}`),
  )
  if (LONG_RUNNING.includes(kind)) {
    faults.push(...pod.containers.flatMap((container) => findProbeFaults(container)))
  }
  if (pod.securityContext.runAsNonRoot !== true) faults.push('may run as root')
  if (pod.securityContext.seccompProfile?.type !== 'RuntimeDefault') faults.push('has no seccomp profile')
  if (pod.automountServiceAccountToken !== false) faults.push('mounts an API token')
  return faults
}

function findContainerFaults({ image, resources, securityContext, env }: Container): string[] {
  const faults: string[] = []
  if (!/:(?!latest$)[^/:]+$/.test(image)) faults.push('has an image without a fixed tag or digest')
  for (const resource of ['cpu', 'memory', 'ephemeral-storage']) {
    if (!resources.limits[resource]) faults.push(`has no limit of ${resource}`)
    if (!resources.requests[resource]) faults.push(`requests no ${resource}`)
  }
  if (securityContext.readOnlyRootFilesystem !== true) faults.push('can write its root file system')
  if (securityContext.allowPrivilegeEscalation !== false) faults.push('may gain privileges')
  if (!securityContext.capabilities?.drop.includes('ALL')) faults.push('keeps capabilities')
  // A URL may have its password from a secret: $(DATABASE_PASSWORD).
  const clear = env.filter(
    ({ name, value = '' }) => value !== '' && isSecretName(name) && !/:\$\(\w+\)@/.test(value),
  )
  faults.push(...clear.map(({ name }) => `has the secret ${name} in the clear`))
  return faults
}

function findProbeFaults(container: Container): string[] {
  const probes = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const
  return probes.filter((probe) => !container[probe]).map((probe) => `${container.name} has no ${probe}`)
}

/** A name with _FILE contains a path. URLs of servers contain passwords. */
const isSecretName = (name: string): boolean =>
  /SECRET|PASSWORD|DATABASE_URL|QUEUE_URL|DKIM_KEY/.test(name) && !name.endsWith('_FILE')

function dig(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (inner, key) =>
      inner && typeof inner === 'object' ? (inner as Record<string, unknown>)[key] : undefined,
    value,
  )
}
