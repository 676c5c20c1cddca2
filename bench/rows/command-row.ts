import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { answers, hasPhp } from '../run/installed.ts'
import { median } from '../run/quantile.ts'

const SCRIPTIFY = join(import.meta.dirname, '..', '..', 'services/scriptify/bin/scriptify')
const ANSWER = 'ran\n'
const FILES = {
  'node/package.json': '{ "type": "module", "scriptify": { "namespaces": { "": "src/" } } }',
  'node/src/Least.ts': `export class Least { run(): void { console.log('ran') } }`,
  'php/vendor/autoload.php': `<?php class Least { public function run(): void { echo "ran\\n"; } }`,
}

interface Line {
  host: string
  folder: 'node' | 'php'
  command: readonly [file: string, ...args: string[]]
  /** Exactly what it prints. */
  prints: string
}

export interface CommandResult {
  host: string
  /** From the spawn to the end. */
  wholeMs: number
  /** Latchkey's divided by that of the host; what has no peer is compared with itself. */
  wholeOfLatchkey: number
}

/** Runs each command in turn, round by round; throws if one fails or prints something else. */
export async function measureCommands(rounds: number): Promise<CommandResult[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-bench-'))
  for (const [name, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(folder.path, name)), { recursive: true })
    await writeFile(join(folder.path, name), text)
  }
  await using site = await openSite()
  const pairs = pairsAt(site.url)
  const times = new Map<Line, number[]>(pairs.flat().map((line) => [line, []]))
  for (let round = 0; round <= rounds; round++)
    for (const [line, own] of times) {
      const ms = await runCommand(line, folder.path)
      // The first compiles.
      if (round > 0) own.push(ms)
    }
  return pairs.flatMap(([latchkey, ...peers]) =>
    [latchkey, ...peers].map((line) => {
      const own = times.get(line) ?? []
      const ratios = own.map((each, round) => (times.get(latchkey)?.[round] ?? Number.NaN) / each)
      return { host: line.host, wholeMs: median(own), wholeOfLatchkey: median(ratios) }
    }),
  )
}

/** What scriptify does, and after it how one does that without. */
function pairsAt(url: string): readonly (readonly [Line, ...Line[]])[] {
  const scriptify = (host: string, folder: 'node' | 'php', prints: string, ...args: string[]): Line => ({
    ...{ host: `scriptify ${host}`, folder, prints },
    command: [process.execPath, SCRIPTIFY, ...args],
  })
  const peer = (host: string, folder: 'node' | 'php', ...command: Line['command']): Line => ({
    ...{ host, folder, command, prints: ANSWER },
  })
  const inNode = `import('./src/Least.ts').then(({ Least }) => new Least().run())`
  const inPhp = 'require "vendor/autoload.php"; (new Least)->run();'
  return [
    [
      scriptify('run (node)', 'node', ANSWER, 'run', 'Least::run'),
      peer('node -e', 'node', process.execPath, '-e', inNode),
    ],
    ...(hasPhp
      ? ([
          [
            scriptify('run (php)', 'php', ANSWER, 'run', 'Least::run'),
            peer('php -r', 'php', 'php', '-r', inPhp),
          ],
        ] as const)
      : []),
    [
      scriptify('endpoint', 'node', ANSWER, 'endpoint', 'GET', url),
      ...(answers('curl') ? [peer('curl', 'node', 'curl', '--silent', url)] : []),
    ],
    [scriptify('completion', 'node', 'Least::\n', 'completion', 'bash', '--line', 'scriptify run Le')],
  ]
}

async function runCommand({ host, folder, command, prints }: Line, root: string): Promise<number> {
  const [file, ...args] = command
  const begun = performance.now()
  const { stdout } = await promisify(execFile)(file, args, { cwd: join(root, folder) })
  const ms = performance.now() - begun
  if (stdout !== prints)
    throw new Error(`${host} printed ${JSON.stringify(stdout)}, not ${JSON.stringify(prints)}`)
  return ms
}

/** What `endpoint` asks: the least that answers. */
async function openSite(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_, response) => response.end(ANSWER)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' ? address?.port : undefined
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}
