interface Tag {
  name: string
  description: string
}

/** The tags in the order in which a user meets them. */
const FIRST: readonly Tag[] = [
  { name: 'login', description: 'From credentials to a token, and its end.' },
  { name: 'identity providers', description: 'Logins with an account at another service.' },
  { name: 'sign-up', description: 'A new account: a code by e-mail, and its confirmation.' },
  { name: 'token', description: 'A token in its last minutes is exchanged for a new one.' },
  { name: 'sessions', description: "The caller's logins that have not ended." },
  { name: 'profile', description: "The caller's own data." },
  { name: 'second factor', description: 'The factor that a login needs beside the password.' },
  {
    name: 'password reset',
    description:
      'A code by e-mail, its confirmation, the new password: three steps for a user without a token.',
  },
]
const LAST: readonly Tag[] = [
  { name: 'sample', description: 'Guarded endpoints to copy from.' },
  { name: 'health', description: 'The checks of an orchestrator.' },
]

/** Describes the tags that are used. The tag of a further feature comes before the samples. */
export function orderTags(used: readonly string[]): Tag[] {
  const known = [...FIRST, ...LAST]
  const others = [...new Set(used)].filter((name) => !known.some((tag) => tag.name === name))
  const described = others.map((name) => ({ name, description: `Endpoints of ${name}.` }))
  return [...FIRST, ...described, ...LAST].filter(({ name }) => used.includes(name))
}
