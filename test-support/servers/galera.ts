import { startCluster } from '../mysql-clusters.ts'
import type { StartedServer } from './shared-servers.ts'

/** The addresses of the nodes, separated by spaces. */
export async function start(): Promise<StartedServer> {
  const cluster = await startCluster('galera')
  return {
    url: cluster.nodes.map(({ url }) => url).join(' '),
    stop: async () => cluster[Symbol.asyncDispose](),
  }
}
