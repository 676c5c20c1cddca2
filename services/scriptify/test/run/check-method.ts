// check-method.ts <rootdir> <reference> [uid]: checks a method as install does, and says the outcome.
import { CliError } from '../../src/io/cli-error.ts'
import { loadRuntime, resolveCall } from '../../src/run/resolve-call.ts'
import { runCheckCommand } from '../../src/run/run-check-command.ts'

const [rootdir = '.', reference = '', uid] = process.argv.slice(2)
try {
  const call = await resolveCall(reference, { rootdir, args: [] }, process.env)
  const runtime = await loadRuntime(call.reference.runtime)
  const command = await runtime.command(call, process.env, 'check')
  const user = uid === undefined ? {} : { user: { uid: Number(uid), gid: Number(uid) } }
  await runCheckCommand(command, { rootdir: call.rootdir, env: process.env, ...user })
  console.log('fine')
} catch (error) {
  if (!(error instanceof CliError)) throw error
  console.log(`${error.exitCode} ${error.message}`)
}
