import { execFileSync } from 'node:child_process'

/** True where a program runs here. `requiredBy` names a variable: where that is 1, a missing program is an error. */
export function isInstalled(
  program: string,
  { args = ['--version'], requiredBy }: { args?: string[]; requiredBy?: string } = {},
): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' })
    return true
  } catch (cause) {
    if (requiredBy !== undefined && process.env[requiredBy] === '1')
      throw new Error(`${requiredBy}=1, but ${program} cannot be run here; install it`, { cause })
    return false
  }
}
