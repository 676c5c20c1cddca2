import type { TestProject } from 'vitest/node'

export const SERVERS_URL = 'MUTATION_SERVERS_URL'

/** A Vitest global set-up: the workers of Stryker share the servers that `mutation.ts` started. */
export default function provideServers(project: Pick<TestProject, 'provide'>): void {
  project.provide('sharedServersUrl', String(process.env[SERVERS_URL]))
}
