import { execFile } from 'node:child_process'
import type { StartedTestContainer } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasDocker, MAIN, startPhpMachine } from './terminal-docker.ts'

/** What a statement does when its terminal ends. */
const STATEMENTS = {
  php: { spins: 'while (true) {}', sleeps: 'sleep(100);', dies: 'posix_kill(getmypid(), SIGKILL);' },
  node: {
    spins: 'while (true) {}',
    sleeps: 'await new Promise(() => setInterval(() => {}, 1000))',
    dies: 'process.kill(process.pid, 9);',
  },
}

describe.skipIf(!(await hasDocker())).concurrent('a terminal that ends', () => {
  let machine: StartedTestContainer
  beforeAll(async () => {
    machine = await startPhpMachine()
  })
  afterAll(() => machine?.stop())

  /**
   * Starts a terminal by a script of sh and ends it by another, once its statement runs; gives the processes that are left
   * five seconds later. `$pid` is the program that was started; what is written to descriptor 9 is its input.
   */
  const leftAfter = async (start: string, end: string): Promise<string> => {
    const script = `
      ID=${crypto.randomUUID()} d=$(mktemp -d); mkfifo $d/in; exec 9<> $d/in
      processes() { grep -lszxF "ID=$ID" /proc/[0-9]*/environ | cut -d/ -f3; }
      terminal() { exec node ${MAIN} terminal --no-preload "$@"; }
      { export ID; ${start}; } > $d/out 2>&1 < $d/in & pid=$!
      for ((n = 0; n < 600; n++)); do [ ! -e $d/begun ] || break; sleep 0.1; done
      [ -e $d/begun ] || cat $d/out
      sleep 0.3
      ${end}
      for ((n = 0; n < 50; n++)); do [ -n "$(processes)" ] || break; sleep 0.1; done
      for id in $(processes); do tr '\\0' ' ' < /proc/$id/cmdline; echo; kill -9 $id; done`
    return new Promise((resolve, reject) => {
      const child = execFile('docker', ['exec', '-i', machine.getId(), 'bash'], (error, stdout) => {
        if (error === null) resolve(stdout)
        else reject(error)
      })
      child.stdin?.end(script)
    })
  }
  const begin = {
    php: "touch('$d/begun');",
    node: "process.getBuiltinModule('fs').writeFileSync('$d/begun', '');",
  }

  describe.each(['php', 'node'] as const)('in %s', (runtime) => {
    const { spins, sleeps, dies } = STATEMENTS[runtime]
    const script = (statement: string, options = '') =>
      `terminal --runtime ${runtime} ${options} -x "${begin[runtime]} ${statement}"`

    it.each(['TERM', 'HUP', 'INT', 'KILL'])('by SIG%s ends what spins and what sleeps', async (signal) => {
      const end = `kill -${signal} $pid`
      expect(await leftAfter(script(spins), end)).toBe('')
      expect(await leftAfter(script(sleeps), end)).toBe('')
    })

    it('by kill -9 ends what has no copy', async () => {
      expect(await leftAfter(script(spins, '--no-fork'), 'kill -9 $pid')).toBe('')
    })

    it.each(['TERM', 'KILL'])('by SIG%s ends the process that has replaced another one', async (signal) => {
      const start = `terminal --runtime ${runtime} --keep-going -x "${dies} ${begin[runtime]} ${spins}"`
      expect(await leftAfter(start, `kill -${signal} $pid`)).toBe('')
    })

    it('by a closed window ends all', async () => {
      const start = `
        echo "${begin[runtime]} ${spins}" >&9
        exec script -qec "node ${MAIN} terminal --no-preload --runtime ${runtime}" /dev/null`
      expect(await leftAfter(start, 'kill -9 $pid')).toBe('')
    })
  })
})
