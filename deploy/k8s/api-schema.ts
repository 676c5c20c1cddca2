import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import type { Manifest } from './manifest.ts'
import { nameOf } from './manifest.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The package that carries the models of an API group, made from that API's own published schema. */
const CUSTOM_RESOURCES: Record<string, string> = {
  'argoproj.io': '@kubernetes-models/argo-cd',
  'kustomize.toolkit.fluxcd.io': '@kubernetes-models/flux-cd',
  'keda.sh': '@kubernetes-models/keda',
  'external-secrets.io': '@kubernetes-models/external-secrets',
  'gateway.networking.k8s.io': '@kubernetes-models/gateway-api',
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'postgresql.cnpg.io': '@kubernetes-models/cloudnative-pg',
}

interface Model {
  new (data: unknown): { validate(): void }
}

const moduleOf = ({ apiVersion, kind }: Manifest): string => {
  const [group = ''] = apiVersion.split('/')
  return `${CUSTOM_RESOURCES[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`
}

/**
 * No package has the models of CloudNativePG's plugin for Barman. Its store has the fields that a Cluster had before there was
 * a plugin, and is checked as one.
 */
function asModelled(manifest: Manifest): Manifest {
  if (manifest.kind !== 'ObjectStore') return manifest
  const { configuration, ...others } = manifest.spec as Record<string, unknown>
  const backup = { barmanObjectStore: configuration, ...others }
  return {
    apiVersion: 'postgresql.cnpg.io/v1',
    kind: 'Cluster',
    metadata: manifest.metadata,
    spec: { instances: 1, backup },
  }
}

/** Returns what the API's schema refuses: types, required fields, formats, enumerations. */
export async function findSchemaFaults(given: Manifest): Promise<string[]> {
  const manifest = asModelled(given)
  try {
    const models: Record<string, Model> = await import(moduleOf(manifest))
    const Model = models[manifest.kind]
    if (!Model) return [`${nameOf(manifest)} has no schema`]
    new Model(manifest).validate()
    return []
  } catch (error) {
    return [`${nameOf(manifest)}: ${errorMessage(error)}`]
  }
}

/**
 * Returns the fields that the API does not know, which its schema lets pass and an API server would drop in silence. The same
 * packages' types refuse them, so the manifests are checked as typed literals, all in one run of the compiler.
 */
export function findUnknownFields(given: readonly Manifest[]): string {
  const manifests = given.map(asModelled)
  const folder = mkdtempSync(join(import.meta.dirname, '.checked-'))
  try {
    const lines = manifests.map(
      (manifest, index) =>
        `import type { I${manifest.kind} as T${index} } from '${moduleOf(manifest)}'\n` +
        `export const m${index}: T${index} = ${JSON.stringify(manifest)}\n`,
    )
    const file = join(folder, 'manifests.ts')
    writeFileSync(file, lines.join(''))
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--ignoreConfig']
    const modules = ['--module', 'nodenext', '--types', '']
    const compiler = join(ROOT, 'node_modules', '.bin', 'tsc')
    execFileSync(compiler, [...options, ...modules, file], { encoding: 'utf8', cwd: folder })
    return ''
  } catch (error) {
    if (error instanceof Error && 'stdout' in error) return String(error.stdout)
    throw error
  } finally {
    rmSync(folder, { recursive: true })
  }
}
