import { expect, it } from 'vitest'
import { readJobStatus } from './upstart.ts'

it.each([
  { says: 'start/running, process 1234', state: 'active', pid: 1234 },
  { says: 'start/running', state: 'active', pid: Number.NaN },
  { says: 'start/waiting', state: 'activating', pid: Number.NaN },
  { says: 'start/starting', state: 'activating', pid: Number.NaN },
  { says: 'start/pre-start, process 12', state: 'activating', pid: 12 },
  { says: 'start/spawned, process 12', state: 'activating', pid: 12 },
  { says: 'start/post-start, process 12', state: 'activating', pid: 12 },
  { says: 'start/post-start, (post-start) process 12', state: 'activating', pid: Number.NaN },
  { says: 'start/security-spawning', state: 'activating', pid: Number.NaN },
  { says: 'start/post-stopping', state: 'restarting', pid: Number.NaN },
  { says: 'start/pre-stop, process 12', state: 'restarting', pid: 12 },
  { says: 'start/stopping, process 12', state: 'restarting', pid: 12 },
  { says: 'start/killed, process 12', state: 'restarting', pid: 12 },
  { says: 'start/post-stop, process 13', state: 'restarting', pid: 13 },
  { says: 'stop/pre-stop, process 12', state: 'deactivating', pid: 12 },
  { says: 'stop/stopping, process 12', state: 'deactivating', pid: 12 },
  { says: 'stop/killed, process 12', state: 'deactivating', pid: 12 },
  { says: 'stop/post-stop, process 13', state: 'deactivating', pid: 13 },
  { says: 'stop/waiting', state: 'inactive', pid: Number.NaN },
  { says: '', state: 'unknown', pid: Number.NaN },
])('reads $says as $state', ({ says, state, pid }) => {
  expect(readJobStatus(`poster ${says}\n\tpost-start process 99\n`)).toEqual({ state, pid })
})
