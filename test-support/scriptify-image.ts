import { execFile } from 'node:child_process'
import { ROOT, run, VERSION } from './images.ts'

export const IMAGE = `latchkey/scriptify:${VERSION}`

/** Options of `docker run` with which the container may write to /tmp and do nothing that root may. */
export const HARDENED: readonly string[] = [
  ...['--read-only', '--tmpfs', '/tmp', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges'],
]

export interface Ended {
  code: number
  stdout: string
  stderr: string
}

export async function buildImage(): Promise<void> {
  const args = ['build', '--file', 'deploy/Dockerfile', '--tag', IMAGE, '--target', 'scriptify', '.']
  await run('docker', args, { cwd: ROOT, maxBuffer: 64 * 1024 ** 2 })
}

/** Runs a program to its end, whatever its exit code. */
export function endedOf(file: string, args: readonly string[], input = ''): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(file, args, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr })
    })
    child.stdin?.end(input)
  })
}
