import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { describe, expect, it, onTestFinished } from 'vitest'

/** In the place of docker: prints its arguments and the labels. */
const DOCKER = '#!/bin/sh\necho "$*|$REVISION|$CREATED|$SOURCE"\n'
const COMMITTED_AT = '2026-01-02T03:04:05+00:00'

/** A repository with one commit, whose remote has a password in its URL. */
function createCheckout() {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-labels-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const bin = join(folder, 'bin')
  const checkout = join(folder, 'latchkey')
  mkdirSync(bin)
  writeFileSync(join(bin, 'docker'), DOCKER)
  chmodSync(join(bin, 'docker'), 0o755)
  for (const folder of ['deploy', 'scripts']) mkdirSync(join(checkout, folder), { recursive: true })
  copyFileSync(join(import.meta.dirname, 'build-images.sh'), join(checkout, 'deploy/build-images.sh'))

  const env = { PATH: `${bin}:${process.env.PATH}`, GIT_COMMITTER_DATE: COMMITTED_AT, HOME: folder }
  const run = (file: string, ...args: string[]) =>
    execFileSync(file, args, { cwd: checkout, env, encoding: 'utf8' }).trim()
  run('git', 'init', '-q')
  run('git', 'add', '.')
  run('git', '-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-qm', 'Begin')
  run('git', 'remote', 'add', 'origin', 'https://robot:the-token@git.example.com/latchkey.git')
  return {
    run,
    build: () => run('deploy/build-images.sh').split('\n'),
    write: (path: string) => writeFileSync(join(checkout, path), ''),
  }
}

describe.skipIf(!isInstalled('git', { requiredBy: 'REQUIRE_PROGRAMS' }))('build-images.sh', () => {
  it('labels the images of all three services with the commit, its time and the repository', () => {
    const { run, build, write } = createCheckout()
    // Of this installation, and in no image.
    for (const path of ['deploy/.env', 'deploy/latchkey.dump']) write(path)
    const labels = `${run('git', 'rev-parse', 'HEAD')}|${COMMITTED_AT}|https://git.example.com/latchkey.git`
    expect(build()).toEqual([`compose build|${labels}`, `compose build scriptify|${labels}`])
  })

  it.each(['scripts/own.ts', 'package-lock.json', '.npmrc'])(
    'says that %s is not that of the commit',
    (path) => {
      const { build, write } = createCheckout()
      write(path)
      expect(build()[0]).toMatch(/^compose build\|[0-9a-f]{40}-dirty\|/)
    },
  )

  it('builds an archive without a repository', () => {
    const { run, build } = createCheckout()
    run('rm', '-r', '.git')
    expect(build()).toEqual(['compose build|||', 'compose build scriptify|||'])
  })
})
