import { describe, expect, it } from 'vitest'
import { INIT_SYSTEMS } from '../../units/init-systems.ts'
import { createCli } from '../cli.ts'
import { type CompletionSources, completeLine } from './complete-line.ts'
import { formatReply } from './shells.ts'

const CLASSES = ['App\\Probe', 'App\\Report', 'Users']
const sources: CompletionSources = {
  services: async () => [
    { value: 'importer', description: 'systemd' },
    { value: 'mailer', description: 'initd' },
  ],
  references: async (text, rootdir) =>
    text.includes('::')
      ? [{ value: 'App\\Probe::tick', description: 'Ticks.' }]
      : CLASSES.filter((name) => name.replaceAll('\\', '').startsWith(text.replaceAll('\\', ''))).map(
          (name) => ({
            value: `${name}::`,
            description: rootdir ?? '',
          }),
        ),
}

const load = (command: string | undefined) => createCli({ command })

const complete = async (line: string): Promise<string[] | undefined> =>
  (await completeLine(line, load, sources))?.map(({ value }) => value)

/** What bash puts in place of the word. */
const inBash = async (line: string): Promise<string> =>
  formatReply('bash', await completeLine(line, load, sources), { line, breaks: ' \t\n"\'><=;|&(:' })

describe('completeLine', () => {
  it.each([
    ['scriptify ins', ['install']],
    ['/usr/local/bin/scriptify ins', ['install']],
    ['sudo APP_ENV=x scriptify ins', ['install']],
    ['scriptify --he', ['--help']],
    ['scriptify stop ', ['importer', 'mailer']],
    ['scriptify terminal i', ['importer']],
    ['scriptify logs --lines 5 i', ['importer']],
    ['scriptify logs importer i', ['importer']],
    ['scriptify logs importer -', ['--lines', '--follow', '--since', '--grep', '--help']],
    ['scriptify logs --lines ', []],
    ['scriptify install x --template ', INIT_SYSTEMS.map(({ name }) => name)],
    ['scriptify install x -t up', ['upstart']],
    ['scriptify install x --template=up', ['--template=upstart']],
    ['scriptify install x --class App', ['App\\Probe::', 'App\\Report::']],
    ['scriptify run --arg x Us', ['Users::']],
    ["scriptify run 'App\\Re", ['App\\Report::']],
    ['scriptify methods App\\\\Re', ['App\\Report::']],
    ['scriptify run AppRe', ['App\\Report::']],
    ['scriptify run src/re', undefined],
    ['scriptify run --rootdir ', undefined],
    ['scriptify endpoint p', ['POST', 'PUT', 'PATCH']],
    ['scriptify completion z', ['zsh']],
    ['scriptify nope ', []],
  ])('completes %j', async (line, values) => {
    expect(await complete(line)).toEqual(values)
  })

  it('looks in the project of --rootdir', async () => {
    const candidates = await completeLine('scriptify run -r "/srv/my shop" Us', load, sources)
    expect(candidates).toEqual([{ value: 'Users::', description: '/srv/my shop' }])
  })

  it.each([
    ['scriptify run App', 'App\\\\Probe::\nApp\\\\Report::\n'],
    ["scriptify run 'App\\Pr", 'App\\Probe::\n'],
    ['scriptify run "App\\Pr', 'App\\\\Probe::\n'],
    // bash keeps what is before the last colon.
    ['scriptify run App\\\\Probe::t', 'tick\n'],
    ["scriptify run 'App\\Probe::t", 'App\\Probe::tick\n'],
    ['scriptify install x --template=up', 'upstart\n'],
    ['scriptify run --rootdir ', ':files\n'],
    ['scriptify run --no', ''],
  ])('is quoted for bash in %j', async (line, reply) => {
    expect(await inBash(line)).toBe(reply)
  })
})
