import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { InitSystem } from './init-system.ts'
import { INIT_SYSTEMS } from './init-systems.ts'
import { listServices } from './list-services.ts'
import { ownershipMark } from './ownership.ts'
import { initd } from './systems/initd.ts'

it('lists a script once where two init systems read the same folder', async () => {
  const openrc: InitSystem = { ...initd, name: 'openrc' }
  const root = await mkdtemp(join(tmpdir(), 'scriptify-list-'))
  await mkdir(join(root, 'etc/init.d'), { recursive: true })
  await writeFile(
    join(root, 'etc/init.d/importer'),
    `#!/sbin/openrc-run\n${ownershipMark('importer', openrc)}\n`,
  )
  const services = await listServices({ root, systems: [...INIT_SYSTEMS, openrc] })
  expect(services).toMatchObject([{ name: 'importer', template: 'openrc' }])
})
