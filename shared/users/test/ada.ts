import type { User } from '../user.ts'

/** Ada as a repository finds her, but for what is given. */
export const ada = (given: Partial<User> = {}): User => ({
  userid: '6f3f7f0e-0000-4000-8000-000000000000',
  name: 'Ada',
  email: 'ada@example.com',
  username: 'ada',
  role: 'user',
  passwordHash: 'the stored hash',
  createdAt: null,
  updatedAt: null,
  deletedAt: null,
  properties: [],
  ...given,
})
