import type { FastifyRequest, preValidationHookHandler } from 'fastify'
import { z } from 'zod'
import { FACTOR_NOT_YET_REQUIRED } from '../../http/authenticate.ts'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import type { SessionCaller } from '../../tokens/claims.ts'
import { EXAMPLE_REFRESH_TOKEN, LoginResponse } from '../../tokens/token-response.ts'
import { claimsOf, createExchangeRefreshToken, findLastingSession } from './exchange-refresh-token.ts'
import { logOut } from './log-out.ts'
import { findPresented, type PresentedRefreshToken } from './presented-refresh-token.ts'
import { createRefreshToken } from './refresh-token.ts'
import { endSession, type ListedSession, listSessions } from './user-sessions.ts'

const refreshTokenSchema = () =>
  z
    .string('must be a string')
    .optional()
    .describe('The newest refresh token of the session, in place of an access token.')

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
  .extend({ refresh_token: refreshTokenSchema() })
  .meta({ id: 'Logout', examples: [{ everywhere: false }] })

const RefreshBody = z
  .object({ refresh_token: refreshTokenSchema() }, 'must be a JSON object')
  .meta({ id: 'Refresh', examples: [{ refresh_token: EXAMPLE_REFRESH_TOKEN }] })

const EXAMPLE_ID = '6a1f0f3c9b8e4d27a5c3e1b7d9f2048c6e8a0b4d1f3c5e7a9b2d4f6081a3c5e7'

const moment = () => z.string().meta({ format: 'date-time' })

const Sessions = z
  .object({
    sessions: z
      .array(
        z.object({
          id: z.string().describe('The id for `DELETE /sessions/{id}`. It gives no access.'),
          remembered: z.boolean().describe('True for one that has a refresh token.'),
          current: z.boolean().describe('True for the session of this request.'),
          created_at: moment().describe('The time of the login.'),
          refreshed_at: moment().describe('The time at which its newest token was issued.'),
          expires_at: moment().describe(
            'The time at which its newest token ends: the refresh token, where it has one.',
          ),
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
            remembered: false,
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

/** Adds the refresh of a token, the logout, the list of the own sessions, and the end of one. */
export const sessionRoutes: FeatureRoutes = async (app, { core, config }) => {
  const refreshToken = createRefreshToken(core, config.tokens)
  const exchangeRefreshToken = createExchangeRefreshToken(core, config.tokens)
  const { refreshCookies, answerLogin } = core

  // Many clients send no body, which Fastify validates as null.
  const allowNoBody: preValidationHookHandler = (request, _reply, done) => {
    request.body ??= {}
    done()
  }

  app.post(
    '/refreshtoken',
    {
      auth: 'signed',
      config: { acceptsRefreshToken: true, usesRefreshCookie: true },
      problems: ['token_not_refreshable', 'foreign_origin'],
      preValidation: allowNoBody,
      schema: {
        operationId: 'refreshToken',
        summary: 'Exchange a refresh token, or a token in its last minutes, for a new one',
        description:
          "The new token has the user's current name and role. As long as the new one was not used, the request can be repeated, as after a lost answer: the old token is valid until ten seconds after the first use. A refresh with it after that ends the session. REFRESH_WINDOW says how long the last minutes are. A refresh token, in the body or in the cookie of the login, is exchanged at any time by the same rule: the response has the next one. For the cookie, the body is `{}` and the Origin one of this service or of CORS_ORIGINS.",
        tags: ['token'],
        body: RefreshBody.optional(),
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const presented = findPresented(request, request.body, refreshCookies)
      if (!presented) return refreshToken(core.loggedInClientOf(request))
      const { audit } = core.clientOf(request)
      return answerLogin(reply, await exchangeRefreshToken(presented.token, presented.form, audit))
    },
  )

  app.post(
    '/logout',
    {
      auth: FACTOR_NOT_YET_REQUIRED,
      config: { acceptsRefreshToken: true, usesRefreshCookie: true },
      problems: ['foreign_origin'],
      preValidation: allowNoBody,
      schema: {
        operationId: 'logout',
        summary: "End the caller's session",
        description:
          'The tokens of a login and of its refreshes are refused from now on, on other replicas within REVOCATION_CACHE. The body may be omitted. A refresh token, in the body or in the cookie of the login, ends its session without an access token.',
        tags: ['login'],
        body: LogoutBody.optional(),
        response: { 204: z.undefined().describe('The session has ended.') },
      },
    },
    async (request, reply) => {
      const everywhere = request.body?.everywhere ?? false
      const presented = findPresented(request, request.body, refreshCookies)
      if (presented?.form === 'cookie' || refreshCookies.has(request)) refreshCookies.clear(reply)
      await logOut(core, presented ? await callerOf(request, presented) : core.loggedInClientOf(request), {
        everywhere,
      })
      reply.code(204)
    },
  )

  async function callerOf(request: FastifyRequest, { token }: PresentedRefreshToken): Promise<SessionCaller> {
    const { audit } = core.clientOf(request)
    return { claims: claimsOf(await findLastingSession(core, token), token), audit }
  }

  app.get(
    '/sessions',
    {
      auth: 'authenticated',
      schema: {
        operationId: 'listSessions',
        summary: "The caller's sessions that have not ended",
        description:
          'A session begins with a login and ends when its newest token expires, or by a logout, or by what ends every token.',
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
          'Its tokens are refused from now on, on other replicas within REVOCATION_CACHE. 404 for a session that has ended or that is not of the caller.',
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
  remembered: session.refresh !== undefined,
  current: session.isCurrent,
  created_at: session.createdAt.toISOString(),
  refreshed_at: session.refreshedAt.toISOString(),
  expires_at: session.expiresAt.toISOString(),
  address: session.address,
  agent: session.agent || null,
})
