import { Command } from 'commander'
import type { CliContext } from '../../io/cli-context.ts'
import { printLines } from '../../io/print-lines.ts'
import type { InitSystem } from '../../services/init-system.ts'

const EXAMPLES = `
Examples:
  scriptify uninstall importer
  scriptify uninstall importer --dry-run      shows what would be stopped and removed`

/** `scriptify uninstall`: stops and disables a service of one of `systems`, and removes all its files. */
export function createUninstallCommand(systems: readonly InitSystem[], { stdout }: CliContext): Command {
  return new Command('uninstall')
    .description('stop, disable and remove an installed service (as root)')
    .argument('<name>', 'as it was installed')
    .option('--dry-run', 'show what would be run and removed')
    .option('--root <dir>', 'remove from the file system mounted at this folder', '/')
    .addHelpText('after', EXAMPLES)
    .action(async (name: string, { dryRun = false, root }: { dryRun?: boolean; root: string }) => {
      const { resolveRoot } = await import('../../services/folders.ts')
      const { uninstallService } = await import('../../services/uninstall-service.ts')
      const lines = await uninstallService({ name, dryRun, root: await resolveRoot(root), systems })
      await printLines(stdout, lines)
    })
}
