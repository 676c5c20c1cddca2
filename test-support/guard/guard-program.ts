import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import type { Started } from './guard.ts'
import { stopProcesses } from './stop-processes.ts'

const [path = ''] = process.argv.slice(2)
let connected = 0
// A signal to the group of the run is for the run; this ends after it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)

const server = createServer(async (socket) => {
  connected++
  await stopAfter(socket)
  connected--
  if (connected > 0) return
  server.close()
  await rm(dirname(path), { recursive: true, force: true, maxRetries: 10 })
}).listen(path)
await once(server, 'listening')
process.stdout.write('listening\n')

/** Waits until a process of the run has gone, and ends and removes what it has named last. */
async function stopAfter(socket: Socket): Promise<void> {
  let last = '{ "pids": [], "folders": [] }'
  // A process that is killed may reset the connection.
  socket.on('error', () => undefined)
  const lines = createInterface(socket)
  lines.on('line', (line) => {
    last = line
  })
  await once(lines, 'close')
  const { pids, folders }: Started = JSON.parse(last)
  await stopProcesses(pids)
  for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 10 })
}
