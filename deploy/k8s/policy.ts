import type { IContainer, IPodSpec } from 'kubernetes-models/v1'
import { type Manifest, nameOf } from './manifest.ts'

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

/** Describes each violation of the policy in a manifest, whose fields the API's schema accepts. */
export function findFaults(manifest: Manifest): string[] {
  const { kind } = manifest
  const [podPath, jobPath] = [POD_PATHS[kind], JOB_PATHS[kind]]
  const faults = podPath ? findPodFaults(kind, dig<IPodSpec>(manifest, podPath)) : []
  if (jobPath && !('ttlSecondsAfterFinished' in dig<object>(manifest, jobPath)))
    faults.push('stays for ever when it has finished')
  const spec = manifest.spec as Record<string, unknown> | undefined
  if (kind === 'PodDisruptionBudget' && spec?.unhealthyPodEvictionPolicy !== 'AlwaysAllow')
    faults.push('holds a drain up for pods that are not ready')
  if (kind === 'ScaledObject' && !spec?.fallback) faults.push('has no fallback')
  if (kind === 'Secret') faults.push('contains a secret; reference one by name')
  if (kind === 'ConfigMap')
    faults.push(
      ...Object.keys(manifest.data ?? {})
        .filter(isSecretName)
        .map((name) => `has the secret ${name} in the clear`),
    )
  return faults.map((fault) => `${nameOf(manifest)} ${fault}`)
}

function findPodFaults(kind: string, pod: IPodSpec): string[] {
  const { containers, initContainers = [], securityContext } = pod
  const faults = [
    ...[...containers, ...initContainers].flatMap(findContainerFaults),
    ...(LONG_RUNNING.includes(kind) ? containers.flatMap(findProbeFaults) : []),
  ]
  if (securityContext?.runAsNonRoot !== true) faults.push('may run as root')
  if (securityContext?.seccompProfile?.type !== 'RuntimeDefault') faults.push('has no seccomp profile')
  if (pod.automountServiceAccountToken !== false) faults.push('mounts an API token')
  return faults
}

function findContainerFaults({ name, image = '', resources, securityContext, env = [] }: IContainer) {
  const faults: string[] = []
  if (!/:(?!latest$)[^/:]+$/.test(image)) faults.push('has an image without a fixed tag or digest')
  for (const resource of ['cpu', 'memory', 'ephemeral-storage']) {
    if (!resources?.limits?.[resource]) faults.push(`has no limit of ${resource}`)
    if (!resources?.requests?.[resource]) faults.push(`requests no ${resource}`)
  }
  if (securityContext?.readOnlyRootFilesystem !== true) faults.push('can write its root file system')
  if (securityContext?.allowPrivilegeEscalation !== false) faults.push('may gain privileges')
  if (!securityContext?.capabilities?.drop?.includes('ALL')) faults.push('keeps capabilities')
  // A URL may have its password from a secret: $(DATABASE_PASSWORD).
  const clear = env.filter(
    ({ name, value = '' }) => value !== '' && isSecretName(name) && !/:\$\(\w+\)@/.test(value),
  )
  faults.push(...clear.map((each) => `has the secret ${each.name} in the clear`))
  return faults.map((fault) => `${name} ${fault}`)
}

const findProbeFaults = (container: IContainer): string[] =>
  (['startupProbe', 'readinessProbe', 'livenessProbe'] as const)
    .filter((probe) => !container[probe])
    .map((probe) => `${container.name} has no ${probe}`)

/** A name with _FILE contains a path. URLs of servers contain passwords. */
const isSecretName = (name: string): boolean =>
  /SECRET|PASSWORD|DATABASE_URL|QUEUE_URL|DKIM_KEY/.test(name) && !name.endsWith('_FILE')

/** Returns what is at the path, whose type the schema of the manifest's kind says. */
const dig = <Part>(manifest: Manifest, path: readonly string[]): Part =>
  path.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], manifest) as Part
