import { globSync } from 'node:fs'

/** Code whose mutants are tested together. */
export interface Area {
  name: string
  /** Globs of the code. */
  mutate: string[]
  /** Globs of the tests that may kill its mutants; a mutant in code that runs on load needs them all, so they are few. */
  tests: string[]
}

const FEATURES = 'services/auth-api/src/features'
const PLUGINS = 'services/auth-api/src/plugins'
const API_TESTS = 'services/auth-api/test'
const API_DESCRIPTION = `${API_TESTS}/api-description.test.ts`

export const AREAS: readonly Area[] = [
  {
    name: 'tokens',
    mutate: [`${FEATURES}/tokens/*.ts`, `!${FEATURES}/tokens/authenticate.ts`],
    tests: [`${FEATURES}/tokens/*.test.ts`],
  },
  {
    name: 'authenticate',
    mutate: [`${FEATURES}/tokens/authenticate.ts`],
    tests: [`${FEATURES}/tokens/authenticate.test.ts`],
  },
  {
    name: 'limits',
    mutate: [`${PLUGINS}/rate-limit/*.ts`],
    tests: [`${PLUGINS}/rate-limit/*.test.ts`],
  },
  {
    name: 'login',
    mutate: [`${FEATURES}/login/*.ts`],
    tests: [`${FEATURES}/login/*.test.ts`, `${API_TESTS}/login{,.engine}.test.ts`, API_DESCRIPTION],
  },
  {
    name: 'password-reset',
    mutate: [`${FEATURES}/password-reset/*.ts`],
    tests: [
      `${FEATURES}/password-reset/*.test.ts`,
      `${API_TESTS}/{password-reset,password-reset.engine,reset-transaction,reset-work}.test.ts`,
      API_DESCRIPTION,
    ],
  },
  {
    name: 'profile',
    mutate: [`${FEATURES}/profile/*.ts`],
    tests: [`${FEATURES}/profile/*.test.ts`],
  },
  {
    name: 'sealing',
    mutate: ['shared/mail-outbox/seal-variables.ts'],
    tests: ['shared/mail-outbox/seal-variables.test.ts'],
  },
  {
    name: 'outbox',
    mutate: ['shared/mail-outbox/*.ts', '!shared/mail-outbox/seal-variables.ts'],
    tests: ['shared/mail-outbox/*.test.ts'],
  },
  {
    name: 'settings',
    mutate: ['shared/settings/*.ts'],
    // Not the property tests, which kill no further mutant and take seconds for each.
    tests: ['shared/settings/!(*.property).test.ts'],
  },
  {
    name: 'adopt',
    mutate: ['shared/database/{adopt,adoption/*}.ts'],
    tests: ['shared/database/{adopt,adoption/*}.test.ts'],
  },
]

/** The area that `MUTATION_AREA` names: the workers of Stryker load the configuration of Vitest by themselves. */
export function areaOfEnvironment(): Area {
  const name = process.env.MUTATION_AREA
  const area = AREAS.find((each) => each.name === name)
  if (!area)
    throw new Error(`MUTATION_AREA is ${name}; it is one of ${AREAS.map((each) => each.name).join(', ')}`)
  return area
}

/** Whether tests of the area start the service, on a database. */
export const usesServers = ({ tests }: Area): boolean => tests.some((glob) => glob.startsWith(API_TESTS))

/** The files of an area's code. A glob that begins with `!` excludes. */
export function codeOf({ mutate }: Area): string[] {
  const excluded = mutate.filter((glob) => glob.startsWith('!')).map((glob) => glob.slice(1))
  return globSync(
    mutate.filter((glob) => !glob.startsWith('!')),
    { exclude: ['**/*.test.ts', ...excluded] },
  )
}
