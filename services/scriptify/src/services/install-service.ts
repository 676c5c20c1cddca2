import { chmod, mkdir, rmdir } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { resolveCall } from '../methods/resolve-call.ts'
import type { CommandWords, MethodCall, MethodRuntime } from '../runtimes/method-runtime.ts'
import { methodRuntimes } from '../runtimes/method-runtimes.ts'
import { runCheck } from '../runtimes/run-check.ts'
import { type Account, findAccount } from './account.ts'
import {
  type ControlCommand,
  commandsAfterInstall,
  control,
  findInitSystem,
  type InitSystem,
  NO_INIT_SYSTEM,
  verifyUnit,
} from './init-system.ts'
import { checkFolder, type FoundFile, foldersOf, inspectService, lstatIfAny } from './inspect-service.ts'
import { type OtherSystem, seenFrom, wordsFor } from './other-system.ts'
import { checkPath, parseService, type ServiceRequest } from './parse-service.ts'
import { renderService, type ServiceFile } from './render-service.ts'
import { type FileOperations, type Replacement, removeLeftovers, replaceFiles } from './replace-files.ts'
import { requireRoot } from './require-root.ts'
import {
  MAIN_FILE,
  SCRIPTIFY_DIR,
  type ServiceDefinition,
  type ServiceTemplate,
  TEMPLATES,
} from './service.ts'
import { refuseForeign } from './uninstall-service.ts'

export interface InstallRequest extends ServiceRequest {
  /** On the system that will run the service. */
  readonly rootdir: string
  readonly bootstrap?: string | undefined
  readonly args: readonly string[]
  readonly runtime?: 'php' | 'node' | undefined
  readonly allowOutside?: boolean | undefined
  /** Looks for the class and the method first. */
  readonly check: boolean
  readonly dryRun: boolean
  readonly force: boolean
  /** `/`, or where another system's files are mounted: then nothing is reloaded or started. */
  readonly root: string
  readonly home?: string | undefined
  readonly program?: string | undefined
}

/** What an installation needs from the outside; tests replace it. */
export interface InstallDependencies {
  readonly env: NodeJS.ProcessEnv
  readonly runtimes: Readonly<Record<'php' | 'node', MethodRuntime>>
  readonly operations?: FileOperations
}

const SHELL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Writes a service for an init system, all its files or none, and gives the lines that tell what was done. All is
 * checked before: exit code 2 for what cannot be written, 3 for what does not exist, 4 for somebody else's files.
 */
export async function installService(
  request: InstallRequest,
  { env, runtimes = methodRuntimes, operations }: Partial<InstallDependencies> & { env: NodeJS.ProcessEnv },
): Promise<string[]> {
  const { interval, ...parsed } = parseService(request)
  if (!request.dryRun) requireRoot('install')
  const system = initSystemFor(request)
  const { user, group } = parsed
  const account = user === undefined ? undefined : await findAccount({ user, group }, request.root)
  const files = await standing(request)
  const words = await findCommand(request, {
    interval,
    environment: parsed.environment,
    account,
    env,
    runtimes,
  })
  const service: ServiceDefinition = { ...parsed, ...words }
  const rendered = await renderService(service)
  const commands = commandsAfterInstall(request, system)
  if (request.dryRun) return describe(request.root, rendered, commands)
  await write(request.root, rendered, files, operations)
  for (const command of commands) await control(command)
  const warnings = system.systemd && request.template === 'systemd' ? await verifyUnit(request.name) : []
  return [...report(request, rendered, { replaces: files.length > 0 }), ...warnings]
}

/** Refuses to start what does not run here before anything is written. */
function initSystemFor({ root, start, enable, template }: InstallRequest): InitSystem {
  if (root !== '/') {
    if (start || enable) {
      throw new CliError(
        `${start ? '--start' : '--enable'} is not possible with --root: that system does not run here`,
        EXIT.usage,
      )
    }
    return NO_INIT_SYSTEM
  }
  const system = findInitSystem()
  if (start && template === 'systemd' && !system.systemd) {
    throw new CliError('--start: systemd does not run here', EXIT.usage)
  }
  if (enable && template === 'initd' && !system.updateRcD) {
    throw new CliError('--enable: there is no update-rc.d here', EXIT.usage)
  }
  return system
}

/** The files of this service that stand there, each known to be ours; throws for all that is in the way. */
async function standing({ name, template, root, force }: InstallRequest): Promise<FoundFile[]> {
  for (const folder of foldersOf(template)) await checkFolder(root, folder)
  if (await lstatIfAny(join(root, SCRIPTIFY_DIR))) await checkFolder(root, SCRIPTIFY_DIR)
  const { main, environment, launcher } = await inspectService(name, root)
  const parts = [main[template], environment, launcher].filter((file) => file !== undefined)
  const foreign = parts.find((file) => file.owner === 'foreign')
  if (foreign) throw refuseForeign(foreign)
  const other = TEMPLATES.find(
    (known) => known !== template && main[known] && main[known].owner !== 'foreign',
  )
  if (other !== undefined) {
    throw new CliError(`${name} is installed for ${other}: uninstall it first`, EXIT.usage)
  }
  if (force) return parts
  if (main[template] !== undefined) {
    throw new CliError(
      `${name} is installed already (${main[template].path}): --force replaces it`,
      EXIT.usage,
    )
  }
  const rival = await findRival(name, template, root)
  if (rival !== undefined) {
    throw new CliError(
      `${rival} is somebody else's service ${name}: choose another name, or --force`,
      EXIT.notPermitted,
    )
  }
  return parts
}

/** A service of the distribution that ours would hide, or that would hide ours. */
async function findRival(name: string, template: ServiceTemplate, root: string): Promise<string | undefined> {
  if (template === 'crond') return undefined
  const units = ['/usr/lib', '/lib', '/usr/local/lib', '/etc', '/run'].map(
    (folder) => `${folder}/systemd/system/${name}.service`,
  )
  const paths = [...units, MAIN_FILE.initd(name), MAIN_FILE.upstart(name)]
    .filter((path) => path !== MAIN_FILE[template](name))
    .map((path) => join(root, path))
  const stats = await Promise.all(paths.map(lstatIfAny))
  return paths.find((_, index) => stats[index] !== undefined)
}

interface CallContext {
  readonly interval: number | undefined
  readonly environment: Readonly<Record<string, string>>
  readonly account: Account | undefined
  readonly env: NodeJS.ProcessEnv
  readonly runtimes: InstallDependencies['runtimes']
}

/** The words that the service runs, after a look at the method; paths are those of the system that will run them. */
async function findCommand(
  request: InstallRequest,
  { interval, environment, account, env, runtimes }: CallContext,
): Promise<{ command: CommandWords; rootdir: string }> {
  const { root, args, runtime: language, allowOutside, program } = request
  const other: OtherSystem | undefined =
    root === '/'
      ? undefined
      : { root, home: request.home ?? resolve(import.meta.dirname, '../../../..'), program }
  const callEnv = { ...env, ...environment }
  const call = await resolveCall(
    request.class,
    {
      ...mounted(request),
      args,
      runtime: language,
      allowOutside,
      ...(interval === undefined ? {} : { daemon: { interval } }),
    },
    callEnv,
  )
  const runtime = runtimes[call.reference.runtime]
  if (request.check) await check(call, runtime, { environment, account, env: callEnv })
  const final = other ? seenFrom(call, other) : call
  const words = await runtime.command(final, callEnv)
  const command = other ? wordsFor(words, call.reference.runtime, other) : words
  checkWords(request, final.rootdir, command)
  return { command, rootdir: final.rootdir }
}

/** Throws exit code 2 for words that the service could not start with. */
function checkWords(
  { template, hardening, privateTmp }: InstallRequest,
  rootdir: string,
  command: CommandWords,
): void {
  checkPath('--rootdir', rootdir)
  checkPath('The program', command[0])
  if (template !== 'systemd') return
  if (command[0].includes('$')) {
    throw new CliError(`systemd reads no program's path with $ in it: ${command[0]}`, EXIT.usage)
  }
  // What comes after -- is the method's own.
  const paths = [rootdir, ...command.slice(0, command.indexOf('--'))]
  const hidden = hardening && privateTmp && paths.find((path) => /^\/(var\/)?tmp(\/|$)/.test(path))
  if (hidden) {
    throw new CliError(
      `A service with a /tmp of its own does not see ${hidden}: --no-private-tmp`,
      EXIT.usage,
    )
  }
}

/** Where this process finds what that system finds at `rootdir`. */
function mounted({ root, rootdir, bootstrap }: InstallRequest): {
  rootdir: string
  bootstrap: string | undefined
} {
  if (root === '/') return { rootdir, bootstrap }
  return {
    rootdir: join(root, resolve('/', rootdir)),
    bootstrap: bootstrap !== undefined && isAbsolute(bootstrap) ? join(root, bootstrap) : bootstrap,
  }
}

/** Loads somebody's code, so with the service's rights and what the service will see, not with root's. */
async function check(
  call: MethodCall,
  runtime: MethodRuntime,
  { environment, account, env }: Pick<CallContext, 'environment' | 'account' | 'env'>,
): Promise<void> {
  const own = Object.entries(env).filter(([name]) => name.startsWith('SCRIPTIFY_'))
  const words = await runtime.checkCommand(call, env)
  try {
    await runCheck(words, {
      rootdir: call.rootdir,
      env: { PATH: SHELL_PATH, ...Object.fromEntries(own), ...environment },
      ...(account && process.geteuid?.() === 0 ? { user: account } : {}),
    })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error
    throw new CliError(`The user may not execute ${words[0]}`, EXIT.notPermitted)
  }
}

async function write(
  root: string,
  files: readonly ServiceFile[],
  standing: readonly FoundFile[],
  operations?: FileOperations,
): Promise<void> {
  const folder = join(root, SCRIPTIFY_DIR)
  const isNew = (await mkdir(folder, { recursive: true, mode: 0o755 })) !== undefined
  // Whatever the umask is.
  if (isNew) await chmod(folder, 0o755)
  const replacements = files.map(({ path, mode, content }): Replacement => {
    const existing = standing.find((file) => file.path === join(root, path))
    // What an admin gave our own file stays; the original left secrets open to all.
    const keeps = existing?.owner === 'own' && existing.stats
    return {
      path: join(root, path),
      content,
      mode: keeps ? keeps.mode & 0o7777 : mode,
      existing: existing?.stats,
    }
  })
  try {
    await replaceFiles(replacements, operations)
  } catch (error) {
    if (isNew) await rmdir(folder).catch(() => undefined)
    const reason = error instanceof Error ? error.message : String(error)
    throw new CliError(`Nothing was installed: ${reason}`, EXIT.failed)
  }
  await removeLeftovers(replacements.map(({ path }) => path))
}

function report(
  { name, template, user, root, start, enable }: InstallRequest,
  files: readonly ServiceFile[],
  { replaces }: { replaces: boolean },
): string[] {
  const paths = files.map(({ path }) => join(root, path)).join(', ')
  // From here, nobody could tell its systemd.
  const place =
    root === '/' ? '' : `On that system: ${template === 'systemd' ? 'systemctl daemon-reload && ' : ''}`
  return [
    `Installed ${name} for ${template}: ${paths}`,
    ...(user === undefined ? ['It runs as root; --user names an account of its own'] : []),
    ...(start || template === 'crond'
      ? []
      : [`${place}${NEXT[template](name, replaces ? 'restart' : 'start')}`]),
    ...(enable || root !== '/' || template === 'crond' || template === 'upstart'
      ? []
      : ['It does not start at boot; --enable does that']),
  ]
}

const NEXT = {
  systemd: (name, verb) => `systemctl ${verb} ${name} makes it run`,
  initd: (name, verb) => `service ${name} ${verb} makes it run`,
  upstart: (name, verb) => `${verb} ${name} makes it run`,
} satisfies Record<Exclude<ServiceTemplate, 'crond'>, (name: string, verb: string) => string>

/** All that an installation would do; a variable's value may be a secret, so it is not shown. */
function describe(
  root: string,
  files: readonly ServiceFile[],
  commands: readonly ControlCommand[],
): string[] {
  return [
    ...files.flatMap(({ path, mode, content }) => [
      `==> ${join(root, path)} (mode ${mode.toString(8).padStart(4, '0')})`,
      path.endsWith('.env') ? content.replace(/^(\w+)="(?:[^"\\]|\\[\s\S])*"$/gm, '$1="…"') : content,
    ]),
    ...commands.map(({ words }) => `would run: ${words.join(' ')}`),
  ]
}
