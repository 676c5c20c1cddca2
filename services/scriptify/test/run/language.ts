import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandWords } from '../../src/io/replace-process.ts'
import { type Ended, runInProcess } from '../run-in-process.ts'
import { findPhpMachine, hasDocker, MAIN, type PhpMachine, ROOT } from '../terminal-docker.ts'
import { callHere } from './call-here.ts'

const HERE = `${ROOT}/services/scriptify/test/run`

/** A language, and a machine that speaks it. */
export interface Language {
  name: 'php' | 'node'
  project: string
  /**
   * Runs a script of sh on the machine, in the project's folder, in which `scriptify` is the command; with
   * `become_scriptify … &`, $! is its own pid and not that of a shell around it; `wait_for WORD FILE` gives up after a
   * minute, and ends it; `scriptify_without_root` is the command of a user whose permissions the system checks.
   */
  sh(script: string): Promise<Ended>
  /** `scriptify run` with these words; here only the method has a process. */
  run(args: readonly string[]): Promise<Ended>
  /** `scriptify run --print` of a method with these arguments; a method of TypeScript runs in this process. */
  call(reference: string, args: readonly string[]): Promise<Ended>
  /** `scriptify run` in a process, as from a shell. */
  runFromShell(args: readonly string[]): Promise<Ended>
}

/** php runs in a container, so that these suites need none on this machine. */
export const languages: { name: 'php' | 'node'; isThere: boolean }[] = [
  { name: 'php', isThere: await hasDocker() },
  { name: 'node', isThere: true },
]

export async function startLanguage(name: 'php' | 'node'): Promise<Language> {
  const machine = name === 'php' ? await findPhpMachine() : undefined
  const project = `${HERE}/${name}`
  const node = machine === undefined ? process.execPath : 'node'
  const prologue = `cd ${project}
    scriptify() { "${node}" ${MAIN} "$@"; }
    node_script() { script=$1; shift; "${node}" ${HERE}/../$script "$@"; }
    become_scriptify() { exec "${node}" ${MAIN} "$@"; }
    scriptify_without_root() {
      if [ "$(id -u)" != 0 ]; then scriptify "$@"; return; fi
      setpriv --reuid=65534 --regid=65534 --clear-groups "${node}" ${MAIN} "$@"
    }
    wait_for() {
      n=0
      until grep -q "$1" "$2"; do sleep 0.05; n=$((n + 1)); [ $n -lt 1200 ] || { kill $!; exit 99; }; done
    }\n`
  const sh = (script: string) => runShell(machine, prologue + script)
  const runFromShell = (args: readonly string[]) =>
    sh(['scriptify', 'run', ...bootstrapOf(name, args), ...args].map(quote).join(' '))
  const here = machine === undefined ? { env: process.env, cwd: project } : onMachine(machine, project)
  const run = (args: readonly string[]) =>
    runInProcess(['run', '--rootdir', project, ...bootstrapOf(name, args), ...args], here)
  const call = (reference: string, args: readonly string[]) =>
    name === 'node'
      ? callHere(project, reference, args)
      : run([reference, ...args.flatMap((arg) => ['--arg', arg]), '--print'])
  return {
    name,
    project,
    sh,
    run,
    call,
    runFromShell,
  }
}

/** The word as sh reads it, byte for byte. */
export const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

const bootstrapOf = (name: string, args: readonly string[]): string[] =>
  name === 'php' && !args.some((arg) => arg.startsWith('--bootstrap')) ? ['--bootstrap', 'bootstrap.php'] : []

/** Runs scriptify here and its php there; what stands for php here only tells its version. */
function onMachine(machine: PhpMachine, project: string) {
  const php = join(mkdtempSync(join(tmpdir(), 'scriptify-php-')), 'php')
  writeFileSync(php, `#!/bin/sh\nprintf '${php}\\t8.4\\t80400\\n'\n`, { mode: 0o755 })
  return {
    env: { ...process.env, SCRIPTIFY_PHP_BINARY: php },
    startProgram(command: CommandWords, env: NodeJS.ProcessEnv) {
      const given = Object.entries(env).filter(([name, value]) => process.env[name] !== value)
      return spawn('docker', [
        ...['exec', '--workdir', project],
        ...given.flatMap(([name, value]) => ['--env', `${name}=${value}`]),
        machine.getId(),
        ...command.map((word) => (word === php ? 'php' : word)),
      ])
    },
  }
}

function runShell(machine: PhpMachine | undefined, script: string): Promise<Ended> {
  const [file, args] = machine ? ['docker', ['exec', '-i', machine.getId(), 'sh']] : ['sh', []]
  return new Promise((resolve) => {
    const child = execFile(file, args, { maxBuffer: 64 * 1024 ** 2 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, stdout, stderr })
    })
    child.stdin?.end(script)
  })
}
