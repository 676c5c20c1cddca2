import { resolve } from 'node:path'
import type { RuntimeName } from '../classes/choose-runtime.ts'
import { findConfiguredProject } from '../classes/find-project.ts'
import { listProjectClasses } from '../classes/list-classes.ts'
import type { CliContext } from '../io/cli-context.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { printLines } from '../io/print-lines.ts'
import { readMethods } from './read-methods.ts'
import { runMethod } from './run-method.ts'

/** Prints the classes of a project, each with the first line of its comment; throws a CliError (3) where there is none. */
export async function printClasses(
  { rootdir: folder, json = false }: { rootdir?: string; json?: boolean },
  { stdout }: CliContext,
): Promise<void> {
  const rootdir = folder === undefined ? findConfiguredProject(resolve('.')) : resolve(folder)
  const classes = await listProjectClasses(rootdir)
  if (classes.length === 0) {
    throw new CliError(
      `${rootdir} has no class in the folders of scriptify.namespaces or Composer's psr-4; name one by its file, src/report.ts#Report`,
      EXIT.notFound,
    )
  }
  if (json) return printJson(classes, stdout)
  const width = Math.max(...classes.map(({ name }) => name.length))
  await printLines(
    stdout,
    classes.map(({ name, summary }) => `${name.padEnd(width)}  ${summary}`.trimEnd()),
  )
}

const printJson = (value: unknown, stdout: CliContext['stdout']): Promise<void> =>
  printLines(stdout, [JSON.stringify(value, undefined, 2)])

/** Prints the methods of a class as JSON, or replaces this process by the one that prints them. */
export async function printMethods(
  className: string,
  {
    json = false,
    ...options
  }: { rootdir?: string; bootstrap?: string; runtime?: RuntimeName; json?: boolean },
  context: CliContext,
): Promise<number> {
  if (className.includes('::')) {
    throw new CliError(
      `${className} names a method; scriptify run '${className}' --showdocs describes it`,
      EXIT.usage,
    )
  }
  if (json) {
    await printJson(await readMethods(className, { ...options, env: context.env }), context.stdout)
    return EXIT.ok
  }
  return runMethod(
    { ...options, reference: className, args: [], env: [], task: 'methods', compileCache: true },
    context,
  )
}
