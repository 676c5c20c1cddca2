import { execFileSync } from 'node:child_process'
import { parseAllDocuments } from 'yaml'

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; annotations?: Record<string, string> }
  [field: string]: unknown
}

/** Returns the manifests that `kubectl apply -k folder` would send; throws with kubectl's own words. */
export const render = (folder: string): Manifest[] =>
  parseManifests(
    // It ends before it would have to collect garbage.
    execFileSync('kubectl', ['kustomize', folder], {
      encoding: 'utf8',
      env: { ...process.env, GOGC: 'off' },
    }),
  )

export const parseManifests = (text: string): Manifest[] =>
  parseAllDocuments(text).map((document): Manifest => document.toJS())

export const nameOf = ({ kind, metadata }: Manifest): string => `${kind}/${metadata.name}`
