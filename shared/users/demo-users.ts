/** Published, so the demo users exist in dev and test only. */
export const DEMO_PASSWORD = '!P4ssw0rdstr!'
export const DEMO_ENVIRONMENTS: readonly string[] = ['dev', 'test']

export const DEMO_USERS = [
  { name: 'Admin', email: 'admin@example.com', username: 'admin', role: 'admin', properties: {} },
  {
    name: 'User',
    email: 'user@example.com',
    username: 'user',
    role: 'user',
    properties: { picture: 'https://www.gravatar.com/avatar/b58996c504c5638798eb6b511e6f49af' },
  },
] as const

export const hasDemoUsers = (environment = ''): boolean => DEMO_ENVIRONMENTS.includes(environment)
