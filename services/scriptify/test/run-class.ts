/**
 * Calls `Class::method` of an admin class as scriptify's runner does: strings in order, awaited, an error as one line
 * and exit code 1. It stands in for the runner where a test is about the class.
 */
const [reference = '', ...args] = process.argv.slice(2)
const [className = '', method = ''] = reference.split('::')
const module: Record<string, new () => Record<string, (...given: string[]) => unknown>> = await import(
  `../src/admin/${className.toLowerCase()}.ts`
)
const Class = module[className]
if (!Class) throw new Error(`There is no class ${className}`)
try {
  await new Class()[method]?.(...args)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
