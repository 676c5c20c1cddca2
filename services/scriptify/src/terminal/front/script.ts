import type { CliContext } from '../../io/cli-context.ts'
import type { SessionSetup } from '../worker/supervisor.ts'
import { hasColors } from './coloured-text.ts'

/** The options that the process of a script receives as JSON; the script is its next argument, or else its standard input. */
export interface ScriptSetup {
  /** The project's folder, where the autoloader and the preload are loaded. */
  rootdir: string
  /** The working folder of the script. */
  cwd: string
  autoloader: string | undefined
  preload: string | undefined
  /** True where the value of the last statement is printed. */
  prints: boolean
  /** True where that value is written in colours. */
  colors: boolean
}

/** Replaces this process by the one that runs a script, which is read from its standard input where none is given. */
export async function runScript(
  script: string | undefined,
  { backend, rootdir, cwd, env, preload }: SessionSetup,
  { prints, replace }: { prints: boolean; replace: NonNullable<CliContext['replace']> },
): Promise<number> {
  const { autoloader } = backend
  const setup: ScriptSetup = { rootdir, cwd, autoloader, preload, prints, colors: hasColors(process.stdout) }
  const given = script === undefined ? [] : [script]
  return replace([...(await backend.scriptCommand()), JSON.stringify(setup), ...given], env)
}
