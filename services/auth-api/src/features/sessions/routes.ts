import { z } from 'zod'
import { FACTOR_NOT_YET_REQUIRED } from '../../http/authenticate.ts'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { TokenResponse } from '../../tokens/token-response.ts'
import { logOut } from './log-out.ts'
import { createRefreshToken } from './refresh-token.ts'
import { endSession, type ListedSession, listSessions } from './user-sessions.ts'

const LogoutBody = z
  .object(
    {
      everywhere: z
        .boolean('must be true or false')
        .optional()
        .describe("Ends every token of the user instead of the caller's session."),
    },
    'must be a JSON object',
  )
  .meta({ id: 'Logout', examples: [{ everywhere: false }] })

const EXAMPLE_ID = '6a1f0f3c9b8e4d27a5c3e1b7d9f2048c6e8a0b4d1f3c5e7a9b2d4f6081a3c5e7'

const moment = () => z.string().meta({ format: 'date-time' })

const Sessions = z
  .object({
    sessions: z
      .array(
        z.object({
          id: z.string().describe('The id for `DELETE /sessions/{id}`. It gives no access.'),
          current: z.boolean().describe('True for the session of this request.'),
          created_at: moment().describe('The time of the login.'),
          refreshed_at: moment().describe('The time at which its newest token was issued.'),
          expires_at: moment().describe('The time at which it ends unless it is refreshed before.'),
          address: z
            .string()
            .describe('The address that requested its newest token: IPv4, or the /64 of IPv6.'),
          agent: z
            .string()
            .nullable()
            .describe(
              'The User-Agent of that request. A client can send any text: escape it, and trust it for nothing.',
            ),
        }),
      )
      .describe('The newest hundred; first that of this request.'),
  })
  .meta({
    id: 'Sessions',
    examples: [
      {
        sessions: [
          {
            id: EXAMPLE_ID,
            current: true,
            created_at: '2026-03-01T09:30:00.000Z',
            refreshed_at: '2026-03-01T10:27:12.000Z',
            expires_at: '2026-03-01T11:27:12.000Z',
            address: '192.0.2.7',
            agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
          },
        ],
      },
    ],
  })

const SessionId = z.object({
  id: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be an id of GET /sessions')
    .meta({ examples: [EXAMPLE_ID] }),
})

/** Adds the refresh of a token and the logout and, where SESSIONS is `on`, the list of the own sessions and the end of one. */
export const sessionRoutes: FeatureRoutes = async (app, { core, config }) => {
  const refreshToken = createRefreshToken(core, config.tokens)
  app.post(
    '/refreshtoken',
    {
      auth: 'signed',
      problems: ['token_not_refreshable'],
      schema: {
        operationId: 'refreshToken',
        summary: 'Exchange a token in its last minutes for a new one',
        description:
          "The new token has the user's current name and role. As long as the new one was not used, the request can be repeated, as after a lost answer: the old token is valid until ten seconds after the first use. A refresh with it after that ends the session. REFRESH_WINDOW says how long the last minutes are.",
        tags: ['token'],
        response: { 200: TokenResponse },
      },
    },
    (request) => refreshToken(core.loggedInClientOf(request)),
  )

  app.post(
    '/logout',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      // Most clients send no body, which Fastify validates as null.
      preValidation: (request, _reply, done) => {
        request.body ??= {}
        done()
      },
      schema: {
        operationId: 'logout',
        summary: "End the caller's session",
        description:
          'The tokens of a login and of its refreshes are refused from now on, on other replicas within REVOCATION_CACHE. The body may be omitted.',
        tags: ['login'],
        body: LogoutBody.optional(),
        response: { 204: z.undefined().describe('The session has ended.') },
      },
    },
    async (request, reply) => {
      const everywhere = request.body?.everywhere ?? false
      await logOut(core, core.loggedInClientOf(request), { everywhere })
      reply.code(204)
    },
  )

  if (config.sessions.mode !== 'on') return
  app.get(
    '/sessions',
    {
      auth: 'authenticated',
      schema: {
        operationId: 'listSessions',
        summary: "The caller's sessions that have not ended",
        description:
          'Only where SESSIONS is `on`. A session begins with a login and ends when its newest token expires, or by a logout, or by what ends every token. One that began while SESSIONS was `off` appears with its next refresh.',
        tags: ['sessions'],
        response: { 200: Sessions },
      },
    },
    async (request) => ({ sessions: (await listSessions(core, core.loggedInClientOf(request))).map(toWire) }),
  )

  app.delete(
    '/sessions/:id',
    {
      auth: 'authenticated',
      problems: ['session_not_found'],
      schema: {
        operationId: 'endSession',
        summary: "End one of the caller's sessions",
        description:
          'Only where SESSIONS is `on`. Its tokens are refused from now on, on other replicas within REVOCATION_CACHE. 404 for a session that has ended or that is not of the caller.',
        tags: ['sessions'],
        params: SessionId,
        response: { 204: z.undefined().describe('The session has ended.') },
      },
    },
    async (request, reply) => {
      await endSession(core, core.loggedInClientOf(request), request.params.id)
      reply.code(204)
    },
  )
}

const toWire = (session: ListedSession) => ({
  id: session.id,
  current: session.isCurrent,
  created_at: session.createdAt.toISOString(),
  refreshed_at: session.refreshedAt.toISOString(),
  expires_at: session.expiresAt.toISOString(),
  address: session.address,
  agent: session.agent || null,
})
