import openapiTypescript, { astToString } from 'openapi-typescript'

const HEADER = '// Written by `npm run docs`, from the description that auth-api serves.\n'

/** Returns the types of a client, as openapi-typescript writes them, without what the description says to people. */
export async function describeClientTypes(openapi: unknown): Promise<string> {
  const isForPeople = (key: string, value: unknown) =>
    ['example', 'examples'].includes(key) ||
    (['summary', 'description'].includes(key) && typeof value === 'string')
  const bare = JSON.stringify(openapi, (key, value) => (isForPeople(key, value) ? undefined : value))
  return HEADER + astToString(await openapiTypescript(bare))
}
