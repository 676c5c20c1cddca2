import { eventually, type Machine, read, succeed } from './machine.ts'

/** Texts that a shell, systemd, cron, upstart or printf could interpret. */
export const HOSTILE = [
  '',
  ' leading and trailing ',
  "it's",
  'say "hi"',
  '$HOME $(id) `id` $$ $1',
  `\${HOME}`,
  '100 % %i %% %d',
  '\\ \\n \\\\ \\',
  'two\nlines\n',
  '\ttab\t',
  '; # && | > * ? ~ !',
  '--looks=like an option',
  '-x',
  'Áé ñ 漢字 😀 ÿ',
]

/** The same as a variable, which neither a shell nor systemd may change. */
export const HOSTILE_VALUE = ` ${HOSTILE.join(' ')}\nlast line \\`

/** The record of a call of the method. */
export interface Seen {
  args: string[]
  /** The arguments as hexadecimal digits. */
  hex: string[]
  value: string
  cwd: string
  uid: number
  pid: number
  home: string
  calls: number
}

export interface Probe {
  /** The project's folder. */
  rootdir: string
  /** The method that records what it sees. */
  record: string
  /** A method that fails until /var/probe/ready is there. */
  needy: string
  options: string[]
}

const FOLDER = '/var/probe'

/** Writes a project in php or TypeScript to the machine, into a folder with a hostile name. */
export async function installProbe(machine: Machine, language: 'php' | 'ts'): Promise<Probe> {
  // Node cannot import from a folder whose name holds a backslash.
  const rootdir = language === 'php' ? `/srv/it's 100 % "é" \\o $HOME` : `/srv/it's 100 % "é" $HOME`
  const files = language === 'php' ? PHP : TYPESCRIPT
  for (const [name, content] of Object.entries(files)) {
    // An archive would turn the backslash into a slash.
    const script = 'mkdir -p "$(dirname "$1")" && printf %s "$2" > "$1"'
    await succeed(machine, 'sh', '-c', script, 'sh', `${rootdir}/${name}`, content)
  }
  await succeed(machine, 'sh', '-c', `mkdir -p ${FOLDER} && chmod 1777 ${FOLDER} && chmod -R a+rX /srv`)
  return language === 'php'
    ? { rootdir, record: '\\Jobs\\Probe::record', needy: '\\Jobs\\Probe::needy', options: [] }
    : { rootdir, record: 'src/probe.ts#Probe::record', needy: 'src/probe.ts#Probe::needy', options: [] }
}

/** Waits for a call that is newer than `after`. */
export async function nextCall(machine: Machine, after?: Seen): Promise<Seen> {
  return eventually(async () => {
    const text = await read(machine, `${FOLDER}/seen.json`)
    if (text === undefined) return undefined
    const { args, value, ...rest } = JSON.parse(text)
    const seen: Seen = { ...rest, args: args.map(fromHex), hex: args, value: fromHex(value) }
    return after === undefined || seen.pid !== after.pid || seen.calls > after.calls ? seen : undefined
  })
}

export const forgetCalls = (machine: Machine) => succeed(machine, 'rm', '-f', `${FOLDER}/seen.json`)
export const makeReady = (machine: Machine) => succeed(machine, 'touch', `${FOLDER}/ready`)

const fromHex = (text: string): string => Buffer.from(text, 'hex').toString('utf8')

const PHP = {
  'vendor/autoload.php': `<?php
spl_autoload_register(static function (string $class): void {
    $file = __DIR__ . '/../src/' . str_replace(['Jobs\\\\', '\\\\'], ['', '/'], $class) . '.php';
    if (is_file($file)) require $file;
});`,
  'src/Probe.php': `<?php
namespace Jobs;
final class Probe
{
    private static int $calls = 0;
    public function record(string ...$args): void
    {
        $seen = [
            'args' => array_map(bin2hex(...), $args), 'value' => bin2hex((string) getenv('HARD')), 'cwd' => getcwd(),
            'uid' => posix_geteuid(), 'pid' => getmypid(), 'home' => (string) getenv('HOME'), 'calls' => ++self::$calls,
        ];
        file_put_contents('${FOLDER}/seen.new', json_encode($seen, JSON_THROW_ON_ERROR));
        rename('${FOLDER}/seen.new', '${FOLDER}/seen.json');
        echo "recorded\\n";
    }
    public function needy(): void
    {
        if (!is_file('${FOLDER}/ready')) throw new \\RuntimeException('The database is unavailable');
        $this->record();
    }
}`,
}

const TYPESCRIPT = {
  'src/probe.ts': `import { existsSync, renameSync, writeFileSync } from 'node:fs'
let calls = 0
const hex = (text: string): string => Buffer.from(text).toString('hex')
export class Probe {
  record(...args: string[]): void {
    const { HARD = '', HOME = '' } = process.env
    const seen = {
      args: args.map(hex), value: hex(HARD), cwd: process.cwd(), uid: process.geteuid?.(), pid: process.pid,
      home: HOME, calls: ++calls,
    }
    writeFileSync('${FOLDER}/seen.new', JSON.stringify(seen))
    renameSync('${FOLDER}/seen.new', '${FOLDER}/seen.json')
    console.log('recorded')
  }
  needy(): void {
    if (!existsSync('${FOLDER}/ready')) throw new Error('The database is unavailable')
    this.record()
  }
}`,
}
