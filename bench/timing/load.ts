/* Runs in a thread of its own, until it is terminated: clients whose requests read the database. */
import { workerData } from 'node:worker_threads'
import autocannon from 'autocannon'

await autocannon({
  url: `${workerData.address}/login/confirmcode`,
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ email: 'somebody@example.com', code: '000000' }),
  connections: 4,
  overallRate: 400,
  duration: 3_600,
})
