import { styleText } from 'node:util'
import type { Opened, SessionSetup } from '../worker/supervisor.ts'
import { printableInColours } from './coloured-text.ts'
import type { History } from './history.ts'

interface BannerFacts {
  opened: Opened
  environment: Record<string, string>
  history: Pick<History, 'problem'>
  isProduction: boolean
}

/** Returns the text that a terminal prints before its first prompt. */
export function formatBanner(
  setup: SessionSetup,
  { opened, environment, history, isProduction }: BannerFacts,
): string {
  const { backend, rootdir, preload, env } = setup
  const added = Object.keys(environment).length
  const warning = isProduction ? `${productionWarning(env)}\n` : ''
  const lines = [
    `Scriptify terminal, ${backend.language} ${opened.version}, in ${rootdir}${env.APP_ENV ? `, APP_ENV=${env.APP_ENV}` : ''}`,
    ...(backend.autoloader === undefined ? [] : [`Autoloader: ${backend.autoloader}`]),
    preload === undefined ? 'No preload file' : `Preload: ${preload}`,
    ...(added === 0 ? [] : [`Environment variables loaded: ${added}`]),
    ...(backend.name === 'php' && !opened.forks
      ? ['php has no pcntl: a fatal error or an exit() takes the variables with it']
      : []),
    ...(history.problem === undefined ? [] : [history.problem]),
    ...opened.notes,
    '.help lists the commands. To exit, press Ctrl-D or type exit',
  ]
  // Names of folders and files are those of others.
  return warning + printableInColours(lines.join('\n'))
}

function productionWarning({ APP_ENV }: NodeJS.ProcessEnv): string {
  const text = ` PRODUCTION: APP_ENV=${APP_ENV}. Statements run against production data. `
  return styleText(['bgRed', 'white', 'bold'], text, { stream: process.stdout })
}
