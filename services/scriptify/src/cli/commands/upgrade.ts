import { Command } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import { printLines } from '../../io/print-lines.ts'
import type { InitSystem } from '../../units/init-system.ts'

const EXAMPLES = `
After an upgrade of scriptify, php or Node. A file that was edited by hand is not replaced.

Examples:
  scriptify upgrade importer --dry-run     the lines that would change
  scriptify upgrade importer --restart`

interface Flags {
  restart?: boolean
  dryRun?: boolean
  check: boolean
  root: string
}

/** `scriptify upgrade`: renders an installed service again, from what it was installed with. */
export const createUpgradeCommand = (systems: readonly InitSystem[], { env, stdout }: CliContext): Command =>
  new Command('upgrade')
    .description('write the files of an installed service again (as root)')
    .argument('<service>', 'as it was installed')
    .option('--restart', 'restart it afterwards')
    .option('--dry-run', 'show the difference only')
    .option('--no-check', 'do not check whether the class and the method exist')
    .option('--root <dir>', 'upgrade below this folder, where another host’s files are mounted', '/')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, flags: Flags) => {
      await printLines(stdout, upgrade(name, flags, { systems, env }))
    })

async function* upgrade(
  name: string,
  { restart = false, dryRun = false, check, root: folder }: Flags,
  context: { systems: readonly InitSystem[]; env: NodeJS.ProcessEnv },
): AsyncGenerator<string> {
  const { findServiceSystem } = await import('../../units/control-service.ts')
  const { upgradeService } = await import('../../units/install/install-service.ts')
  const { resolveRoot } = await import('../../units/folders.ts')
  const root = await resolveRoot(folder)
  const system = await findServiceSystem(name, context.systems, root)
  const given = { name, system, root, check, dryRun, start: restart, force: true, env: [], enable: false }
  yield* upgradeService(given, context)
}
