import { Command, InvalidArgumentError, Option } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import type { InitSystem } from '../../services/init-system.ts'
import { parseNumberUpTo, parseTimeBefore } from '../option-values.ts'

const EXAMPLES = `
Lines of several services are in the order of their times. What an init system says about a service is in its own log.

Examples:
  scriptify logs importer                     the last 50 lines
  scriptify logs importer --follow            new lines too, until Ctrl-C
  scriptify logs importer mailer --since 2h --grep 'SMTP|timeout'`

interface Flags {
  lines?: number
  follow?: boolean
  since?: Date
  grep?: RegExp
}

/** `scriptify logs`: what installed services have written, by the system's own tools. */
export function createLogsCommand(systems: readonly InitSystem[], context: CliContext): Command {
  return new Command('logs')
    .description('show what installed services have written')
    .argument('<service...>', 'as it was installed')
    .addOption(
      new Option('-n, --lines <number>', 'the last lines (default: 50; with --since: all)').argParser(
        parseNumberUpTo(9_999_999),
      ),
    )
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .addOption(
      new Option(
        '--since <time>',
        'lines since 30m, 2h or 1d ago, or since a time such as 2026-11-28 03:00',
      ).argParser(parseTimeBefore),
    )
    .addOption(
      new Option('--grep <pattern>', 'lines that match; without capitals, regardless of case').argParser(
        parsePattern,
      ),
    )
    .addHelpText('after', EXAMPLES)
    .action(async (names: string[], { follow = false, ...options }: Flags) => {
      const { findServiceSystem } = await import('../../services/control-service.ts')
      const { printLogs } = await import('../../services/service-log.ts')
      const services = []
      for (const name of new Set(names))
        services.push({ name, system: await findServiceSystem(name, systems) })
      context.exitCode = await printLogs(services, { ...options, follow }, context)
    })
}

/** Parses a pattern as journalctl --grep does: case counts where the pattern has a capital letter. */
function parsePattern(text: string): RegExp {
  try {
    return new RegExp(text, text === text.toLowerCase() ? 'i' : '')
  } catch {
    throw new InvalidArgumentError('Give a regular expression.')
  }
}
