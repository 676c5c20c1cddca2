/**
 * A `schemaController` that keeps Fastify from loading its compilers of JSON Schema, which no schema here needs: 100 modules
 * at each start.
 */
export const WITHOUT_JSON_SCHEMA = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
}

function refuse(): never {
  throw new Error('A route has a schema, and its server has no compiler of schemas')
}
