import { resolve } from 'node:path'
import type { InitSystem } from '../../units/init-system.ts'
import type { CompletionSources } from './complete-line.ts'
import type { Candidate } from './shells.ts'

/** The services of this machine, and the classes and methods of a project. The user waits: each loads only what it needs. */
export const createSources = (
  loadSystems: () => Promise<readonly InitSystem[]>,
  env: NodeJS.ProcessEnv,
): CompletionSources => ({
  async services() {
    const { listServices } = await import('../../units/list-services.ts')
    const services = await listServices({ root: '/', systems: await loadSystems() })
    return services.map(({ name, template }) => ({ value: name, description: template }))
  },
  async references(text, rootdir = '.') {
    const [, className] = /^(.*?)::/.exec(text) ?? []
    return className === undefined
      ? classesFrom(text, resolve(rootdir))
      : methodsFrom(text, { className, rootdir: resolve(rootdir), env })
  },
})

/** An unquoted `App\Report` reaches this process as `AppReport`. */
async function classesFrom(text: string, rootdir: string): Promise<Candidate[]> {
  const { listProjectClasses } = await import('../../classes/list-classes.ts')
  const classes = await listProjectClasses(rootdir)
  return classes
    .filter(({ name }) => name.startsWith(text) || name.replaceAll('\\', '').startsWith(text))
    .map(({ name, summary }) => ({ value: `${name}::`, description: summary }))
}

/** Time until a list of methods is given up: the user waits at a prompt of a shell. */
const TIMEOUT_MS = 5000

/** Lists methods; none where the class cannot be loaded, because a Tab prints no error. */
async function methodsFrom(
  text: string,
  { className, rootdir, env }: { className: string; rootdir: string; env: NodeJS.ProcessEnv },
): Promise<Candidate[]> {
  const { listProjectClasses } = await import('../../classes/list-classes.ts')
  const { readMethods } = await import('../../run/read-methods.ts')
  const classes = await listProjectClasses(rootdir)
  const unquoted = classes.find(({ name }) => name.replaceAll('\\', '') === className)?.name
  const methods = await readMethods(unquoted ?? className, { rootdir, env, timeoutMs: TIMEOUT_MS }).catch(
    () => [],
  )
  const typed = text.slice(className.length)
  return methods
    .map(({ reference, summary }) => ({ value: reference, description: summary }))
    .filter(({ value }) => value.slice((unquoted ?? className).length).startsWith(typed))
}
