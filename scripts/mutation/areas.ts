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

export const AREAS: readonly Area[] = [
  {
    name: 'tokens',
    mutate: [`${FEATURES}/tokens/*.ts`],
    tests: [`${FEATURES}/tokens/*.test.ts`, `${API_TESTS}/tokens{,.engine}.test.ts`],
  },
  {
    name: 'limits',
    mutate: [`${PLUGINS}/rate-limit/*.ts`],
    tests: [`${PLUGINS}/rate-limit/*.test.ts`, `${API_TESTS}/rate-limit.test.ts`],
  },
  {
    name: 'login',
    mutate: [`${FEATURES}/login/*.ts`],
    tests: [`${FEATURES}/login/*.test.ts`, `${API_TESTS}/login{,.engine}.test.ts`],
  },
  {
    name: 'password-reset',
    mutate: [`${FEATURES}/password-reset/*.ts`],
    tests: [
      `${FEATURES}/password-reset/*.test.ts`,
      `${API_TESTS}/{password-reset.engine,reset-transaction,reset-work}.test.ts`,
    ],
  },
  {
    name: 'profile',
    mutate: [`${FEATURES}/profile/*.ts`],
    tests: [`${FEATURES}/profile/*.test.ts`, `${API_TESTS}/profile{,.engine}.test.ts`],
  },
  {
    name: 'outbox',
    mutate: ['shared/mail-outbox/*.ts'],
    tests: ['shared/mail-outbox/*.test.ts', `${API_TESTS}/mail-outbox.engine.test.ts`],
  },
  {
    name: 'settings',
    mutate: ['shared/settings/*.ts'],
    tests: ['shared/settings/*.test.ts', 'services/*/src/config*.test.ts'],
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
