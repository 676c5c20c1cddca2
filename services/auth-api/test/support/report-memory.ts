/* Loaded into a service process by --import: reports its memory when the test asks, after a collection. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

process.on('message', (message) => {
  if (message !== 'report memory') return
  collectGarbage()
  const { rss, heapUsed, external } = process.memoryUsage()
  process.send?.({ rss, used: heapUsed + external })
})
// The channel must not keep the service running.
process.channel?.unref()
