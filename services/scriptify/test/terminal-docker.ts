import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '')
export const MAIN = `${ROOT}/services/scriptify/src/main.ts`

let answer: Promise<boolean> | undefined

/** True where the container suites run; without an engine they are skipped, or fail under REQUIRE_DOCKER=1. */
export const hasDocker = (): Promise<boolean> => (answer ??= askDocker())

async function askDocker(): Promise<boolean> {
  try {
    await promisify(execFile)('docker', ['version', '--format', '{{.Server.Version}}'])
    return true
  } catch (error) {
    if (process.env.REQUIRE_DOCKER === '1')
      throw new Error('REQUIRE_DOCKER=1, but no engine answers', { cause: error })
    console.warn('Skipped: no Docker engine answers, and php 8.4 runs in a container')
    return false
  }
}

/** The environment of a machine whose Node compiles each file once, for what the tests run there. */
export const COMPILED_ONCE = { NODE_COMPILE_CACHE: '/var/cache/node' }

/** Name by which the machine reaches what listens on the host, such as the shared servers. */
export const HOST = 'host.docker.internal'

/** The machine with Node 24 and php 8.4 that the files of a run share, with this project at its own path. */
export interface PhpMachine {
  getId(): string
  exec(words: readonly string[]): Promise<{ exitCode: number; output: string }>
  copyContentToContainer(files: readonly { content: string; target: string }[]): Promise<void>
}

export async function findPhpMachine(): Promise<PhpMachine> {
  const id = await sharedServer('php-machine')
  const exec = (words: readonly string[], input = '') =>
    new Promise<{ exitCode: number; output: string }>((resolve) => {
      const child = execFile('docker', ['exec', '-i', id, ...words], (error, stdout, stderr) => {
        resolve({ exitCode: error ? Number(error.code) : 0, output: stdout + stderr })
      })
      child.stdin?.end(input)
    })
  return {
    getId: () => id,
    exec,
    async copyContentToContainer(files) {
      for (const { content, target } of files) {
        const { exitCode, output } = await exec(
          ['sh', '-c', 'mkdir -p "$(dirname "$0")" && cat > "$0"', target],
          content,
        )
        if (exitCode !== 0) throw new Error(`${target} was not written: ${output}`)
      }
    },
  }
}
