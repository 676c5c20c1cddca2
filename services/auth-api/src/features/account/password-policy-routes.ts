import { type PasswordPolicy, rulesOf } from '@latchkey/shared/passwords/password-policy.ts'
import { LANGUAGES, type Language } from '@latchkey/shared/users/user.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { describeRule } from './rule-sentences.ts'

const PolicyResponse = z
  .object({
    rules: z.array(
      z.object({
        rule: z.string().describe('The name of the rule: its setting, or MAXIMUM_CHARS or MAXIMUM_BYTES.'),
        number: z
          .int()
          .describe('How many characters are required or allowed, or 0 for what is not allowed.'),
        text: z.string().describe('What the rule requires, in the language of the response.'),
      }),
    ),
  })
  .meta({
    id: 'PasswordPolicy',
    examples: [{ rules: [{ rule: 'MINIMUM_CHARS', number: 12, text: 'At least 12 characters.' }] }],
  })

export const passwordPolicyRoutes: FastifyPluginAsyncZod<{ policy: PasswordPolicy }> = async (
  app,
  { policy },
) => {
  const rules = rulesOf(policy)
  app.get(
    '/password-policy',
    {
      schema: {
        operationId: 'getPasswordPolicy',
        summary: 'What a new password must satisfy',
        description:
          'The `violations` of the problem `password-refused` name the same rules. The sentences are in English, French or Portuguese, as Accept-Language says.',
        tags: ['profile'],
        response: { 200: PolicyResponse },
      },
    },
    async (request, reply) => {
      const language = chooseLanguage(request.headers['accept-language'])
      reply.header('content-language', language)
      return {
        rules: rules.map(({ rule, number }) => ({
          rule,
          number,
          text: describeRule(rule, number, language),
        })),
      }
    },
  )
}

/** Returns the language that a client prefers (RFC 9110 §12.5.4); English if it understands none. */
function chooseLanguage(header = ''): Language {
  const preferred = header
    .toLowerCase()
    .split(',')
    .map((range) => {
      const [tag = '', quality = 'q=1'] = range.split(';').map((piece) => piece.trim())
      return { tag: tag.split('-')[0], quality: Number(quality.replace('q=', '')) }
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality)
  for (const { tag } of preferred) {
    const language = LANGUAGES.find((each) => each === tag)
    if (language) return language
  }
  return 'en'
}
