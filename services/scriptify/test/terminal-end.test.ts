import { execFile } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { findPhpMachine, hasDocker, MAIN, type PhpMachine } from './terminal-docker.ts'

/** Statements, by what each does when its terminal ends. */
const STATEMENTS = {
  php: { spins: 'while (true) {}', sleeps: 'sleep(100);', dies: 'posix_kill(getmypid(), SIGKILL);' },
  node: {
    spins: 'while (true) {}',
    sleeps: 'await new Promise(() => setInterval(() => {}, 1000))',
    dies: 'process.kill(process.pid, 9);',
  },
}

describe.skipIf(!(await hasDocker())).concurrent('a terminal that ends', () => {
  let machine: PhpMachine
  beforeAll(async () => {
    machine = await findPhpMachine()
  })

  /**
   * Types lines into a terminal and ends it by a script of sh, once the last of them runs; gives the processes that are left
   * five seconds later. `$terminal` is its process, and `$window` that of what shows it.
   */
  const leftAfter = async (lines: string[], end: string, runtime: string): Promise<string> => {
    const script = `
      ID=${crypto.randomUUID()} d=$(mktemp -d); mkfifo $d/in; exec 9<> $d/in
      processes() { grep -lszxF "ID=$ID" /proc/[0-9]*/environ | cut -d/ -f3; }
      cat >&9 <<END
${lines.join('\n')}
END
      program="echo \\$\\$ >$d/pid; exec node ${MAIN} terminal --no-preload --runtime ${runtime}"
      { export ID; exec script -qec "$program" /dev/null; } >$d/out 2>&1 <$d/in &
      window=$!
      for ((n = 0; n < 600; n++)); do [ ! -e $d/begun ] || break; sleep 0.1; done
      [ -e $d/begun ] || cat $d/out
      terminal=$(cat $d/pid)
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

  it.each(
    (['php', 'node'] as const).flatMap((runtime) => [
      { runtime, end: 'kill -TERM $terminal', statements: ['spins'] as const },
      { runtime, end: 'kill -HUP $terminal', statements: ['sleeps'] as const },
      { runtime, end: 'kill -KILL $terminal', statements: ['sleeps'] as const },
      { runtime, end: 'kill -TERM $terminal', statements: ['dies', 'spins'] as const },
      { runtime, end: 'kill -KILL $terminal', statements: ['dies', 'spins'] as const },
      { runtime, end: 'kill -KILL $window', statements: ['spins'] as const },
    ]),
  )('by $end in $runtime ends what $statements', async ({ runtime, end, statements }) => {
    const lines = statements.map((name) =>
      name === 'dies' ? STATEMENTS[runtime].dies : `${begin[runtime]} ${STATEMENTS[runtime][name]}`,
    )
    expect(await leftAfter(lines, end, runtime)).toBe('')
  })
})
