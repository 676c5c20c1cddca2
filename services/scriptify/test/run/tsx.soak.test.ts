import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { MAIN } from '../terminal-docker.ts'

const FILES = {
  'package.json': '{"type": "module"}',
  'tsconfig.json': '{"compilerOptions": {"paths": {"@/*": ["./src/*"]}}}',
  'src/size.ts': 'export enum Size { Small = 1, Large }',
  'src/job.ts': `import { Size } from '@/size'
import { Size as Again } from './size'
const twice = (method: (...args: any[]) => number, _context: unknown) => function (this: unknown, ...args: any[]) {
  return 2 * method.apply(this, args)
}
export class Job {
  accessor base = 40
  constructor(private readonly size = Size.Large) {}
  /** Adds. */
  @twice
  add(a: number): number { return this.base + this.size + Again.Small + a }
}`,
}

it('runs decorators, accessors, aliases and imports without extension with the tsx of a project', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'scriptify-tsx-'))
  mkdirSync(join(folder, 'src'))
  for (const [name, content] of Object.entries(FILES)) writeFileSync(join(folder, name), content)
  const words = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--save-dev', 'tsx']
  execFileSync('npm', words, { cwd: folder })
  const scriptify = async (...args: string[]) =>
    (await promisify(execFile)(process.execPath, [MAIN, ...args], { cwd: folder })).stdout
  expect(await scriptify('run', 'src/job.ts#Job::add', '--arg', '3', '--print')).toBe('92\n')
  expect(await scriptify('methods', 'src/job.ts#Job')).toBe('src/job.ts#Job::add  Adds.\n')
  const code = 'import { Job } from "@/job"; new Job().add(3)'
  expect(await scriptify('terminal', '--runtime', 'node', '--execute', code)).toBe('92\n')
})
