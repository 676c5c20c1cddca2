import type { FastifySchemaCompiler } from 'fastify'
import { validatorCompiler } from 'fastify-type-provider-zod'
import { z } from 'zod'

/**
 * The former names of members of bodies and of query parameters, with those of today. A client that still sends one is told:
 * an unknown member is ignored otherwise. The release after the next one ignores them.
 */
export const RENAMED_MEMBERS: Readonly<Record<string, string>> = { currentPassword: 'current_password' }

/** Compiles a schema of a route, and refuses the former name of each member that it declares. */
export const compileValidator: FastifySchemaCompiler<z.ZodType> = (route) => {
  const { schema } = route
  const renamed = Object.entries(RENAMED_MEMBERS).filter(
    ([former, name]) => schema instanceof z.ZodObject && name in schema.shape && !(former in schema.shape),
  )
  if (renamed.length === 0) return validatorCompiler(route)
  const refuseFormerNames = (given: unknown, context: z.RefinementCtx): unknown => {
    for (const [former, name] of renamed)
      if (typeof given === 'object' && given !== null && former in given)
        context.addIssue({ code: 'custom', path: [former], message: `must be sent as ${name}` })
    return given
  }
  return validatorCompiler({ ...route, schema: z.preprocess(refuseFormerNames, schema) })
}
