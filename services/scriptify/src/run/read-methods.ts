import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { RuntimeName } from '../classes/choose-runtime.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { loadRuntime, resolveCall } from './resolve-call.ts'
import { reasonIn } from './run-check-command.ts'

export interface ListedMethod {
  /** The reference as `run` takes it. */
  readonly reference: string
  /** The first line of its comment. */
  readonly summary: string
}

export interface ReadMethodsOptions {
  rootdir?: string
  env: NodeJS.ProcessEnv
  bootstrap?: string
  runtime?: RuntimeName
}

/** Reads the methods of a class that can be called, from the loaded class; throws a CliError as `run` would exit. */
export async function readMethods(
  className: string,
  { rootdir, env, bootstrap, runtime: requested }: ReadMethodsOptions,
): Promise<ListedMethod[]> {
  const call = await resolveCall(
    className,
    { args: [], rootdir, bootstrap, runtime: requested, compileCache: true },
    env,
  )
  const runtime = await loadRuntime(call.reference.runtime)
  const [file, ...words] = await runtime.command(call, env, 'methods')
  const { stdout } = await promisify(execFile)(file, words, {
    cwd: call.rootdir,
    env,
  }).catch(({ stderr, code }: { stderr: string; code: unknown }) => {
    throw new CliError(reasonIn(stderr), typeof code === 'number' ? code : EXIT.failed)
  })
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [, reference = '', summary = ''] = /^(\S+)(?: {2,}(.*))?$/.exec(line) ?? []
      return { reference, summary }
    })
}
