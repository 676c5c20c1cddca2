import type { Transaction } from '@latchkey/shared/database/database.ts'
import { AppError, type ErrorReason } from '@latchkey/shared/errors/app-error.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { displayName, makeUsername } from '@latchkey/shared/users/account-names.ts'
import { confirmEmail } from '@latchkey/shared/users/account-state.ts'
import { emailAddress, isOfDomain } from '@latchkey/shared/users/email-address.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { LANGUAGE_PROPERTY, type Language, NO_PASSWORD, type User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import { FEDERATED } from '../../tokens/current-amr.ts'
import type { IssuedLogin } from '../../tokens/issue-token.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'
import { requireAdmitted } from '../../tokens/require-admitted.ts'
import { MULTI_FACTOR } from '../../tokens/require-login.ts'
import { guardCodeAttempt } from '../one-time-codes/guard-code-attempt.ts'
import { lifetimeOf } from '../one-time-codes/issue-code.ts'
import { requireCode } from '../one-time-codes/require-code.ts'
import { requireFactor } from '../second-factor/require-factor.ts'
import type { Identity, IdentityProvider } from './identity-provider.ts'
import { createLoginRepository } from './login-repository.ts'
import { exchangeRefused, type LoginContent, type PendingLogins } from './pending-logins.ts'

type IdentityLoginCore = Pick<
  Core,
  | 'db'
  | 'transaction'
  | 'users'
  | 'usersIn'
  | 'challenges'
  | 'guard'
  | 'notify'
  | 'notifyNewClient'
  | 'mails'
  | 'limitSignUps'
  | 'limitCodes'
  | 'issueLogin'
  | 'localNow'
  | 'sharedNow'
>

export interface IdentityLoginOptions {
  providers: ReadonlyMap<string, IdentityProvider>
  logins: PendingLogins
}

/** What a client adds to a login that lacks something. */
export interface LoginCompletion {
  ticket: string
  /** The code of the mail to the address of the account. */
  code?: string | undefined
  username?: string | undefined
  language?: Language | undefined
  remember?: RefreshForm | undefined
}

/** How far a login has come. */
interface Progress extends LoginContent {
  /** The ticket with which the client goes on, and its row. */
  ticket?: { text: string; id: string } | undefined
  /** The address that the person has confirmed by a code of a mail. */
  confirmedEmail?: string | undefined
  username?: string | undefined
  language?: Language | undefined
  remember?: RefreshForm | undefined
}

/** A race with another login of the same person, after which the account exists. */
const RACES: readonly string[] = ['email_taken', 'identity_taken']

/**
 * Creates the functions that log a person in whom a provider has identified. A person whom nobody here knows gets an account where
 * SIGN_UP is `on`. An account that has the address of the person already is never given away: `login_incomplete` says what is
 * missing, and has the ticket to go on with.
 */
export function createIdentityLogin(
  core: IdentityLoginCore,
  { login: { field }, signUp, reset }: Pick<Config, 'login' | 'signUp' | 'reset'>,
  { providers, logins }: IdentityLoginOptions,
) {
  const { db, transaction, users, usersIn, challenges, guard, notify, issueLogin, localNow, sharedNow } = core

  async function logIn(
    user: User,
    { identity, remember }: Progress,
    { audit }: Client,
  ): Promise<IssuedLogin> {
    const readAt = toNumericDate(localNow())
    const { hasSecondFactor } = identity
    if (challenges && !hasSecondFactor) await requireFactor({ challenges, guard }, user, audit, [FEDERATED])
    requireAdmitted(user, localNow(), audit)
    audit.report({ name: 'login.succeeded', userid: user.userid })
    await core.notifyNewClient(user, audit)
    const amr = hasSecondFactor ? [FEDERATED, MULTI_FACTOR] : [FEDERATED]
    return issueLogin(user, readAt, audit, { amr, remember })
  }

  /** Logs in the person of `progress`, or throws what is missing. */
  async function goOn(progress: Progress, client: Client): Promise<IssuedLogin> {
    const { provider, identity } = progress
    const identities = createIdentityRepository(db)
    const known = await identities.find(provider, identity.subject)
    if (known) {
      const user = requireUsable(await users.findById(known.userid), client)
      await identities.recordUse(known.id, addressOf(identity), new Date(localNow()))
      return logIn(user, progress, client)
    }
    const email = progress.confirmedEmail ?? (identity.isEmailVerified ? addressOf(identity) : undefined)
    if (email === undefined) throw await incomplete(progress, 'address_unconfirmed')
    const owner = await users.findByLogin('email', email)
    if (owner && progress.confirmedEmail === undefined) throw await incomplete(progress, 'account_exists')
    const user = owner ? await takeOver(owner, progress, client) : await signUpAs(email, progress, client)
    return logIn(user, progress, client)
  }

  /** Creates the account of a person whom nobody knows. Throws `identity_unknown` where nobody may sign up. */
  async function signUpAs(email: string, progress: Progress, { audit }: Client): Promise<User> {
    if (signUp.mode !== 'on' || !isOfDomain(email, signUp.domains))
      throw new AppError('identity_unknown', 'Nobody here has this account of the provider')
    const username = field === 'email' ? makeUsername() : progress.username
    if (username === undefined) throw await incomplete(progress, 'username_missing')
    const name = displayName().safeParse(progress.identity.name).data ?? null
    return transaction(async (db) => {
      const repository = usersIn(db)
      const userid = await repository.insert({ name, email, username, passwordHash: NO_PASSWORD, role: null })
      await Promise.all([
        repository.setProperty(userid, LANGUAGE_PROPERTY, progress.language ?? 'en'),
        store(db, userid, progress),
        audit.write(db, { name: 'identity.signed_up', userid, reason: progress.provider }),
      ])
      return requireFound(await repository.findById(userid))
    })
  }

  /**
   * Gives an account to a person who has confirmed its address by a code. Nobody knows who has used the account until now: its
   * password, its identities and its tokens end. Its second factor is asked for before, and is not replaced.
   */
  async function takeOver(owner: User, progress: Progress, client: Client): Promise<User> {
    const { audit } = client
    if (challenges)
      await requireFactor({ challenges, guard }, requireUsable(owner, client), audit, [FEDERATED])
    const begunUnder = await guard.describe(owner)
    return transaction(async (db) => {
      const locked = requireUsable(await usersIn(db).lockAndFind(owner.userid), client)
      await guard.allow(db, locked, { begunUnder, refuse: exchangeRefused })
      if (locked.email !== owner.email) throw exchangeRefused()
      // The code of the mail takes the place of the account guard, as it does in a reset.
      const repository = createUserRepository(db)
      const { userid } = locked
      const now = localNow()
      await createIdentityRepository(db).deleteAll(userid)
      const [user] = await Promise.all([
        revokeUserTokens(repository, locked, now),
        repository.setPassword(userid, NO_PASSWORD),
        confirmEmail(repository, locked),
        endCodes(db, userid, new Date(sharedNow())),
        store(db, userid, progress),
        audit.write(db, { name: 'identity.added', userid, reason: progress.provider }),
        notify(
          db,
          locked,
          { template: 'identity-added', provider: labelOf(progress), isAlone: true },
          audit.address,
        ),
      ])
      return { ...user, passwordHash: NO_PASSWORD }
    })
  }

  /** Stores the identity of a login with its user, and ends the login. */
  async function store(
    db: Transaction,
    userid: string,
    { provider, identity, ticket }: Progress,
  ): Promise<void> {
    const { subject } = identity
    if (ticket) await logins.use(db, ticket.id)
    await createIdentityRepository(db).insert(
      { userid, provider, subject, email: addressOf(identity) },
      new Date(localNow()),
    )
  }

  const labelOf = ({ provider }: LoginContent): string => providers.get(provider)?.label ?? provider

  /** Creates the error that says what a login lacks. A page shows it, and goes on with the ticket. */
  async function incomplete(progress: Progress, reason: ErrorReason): Promise<AppError> {
    const ticket = progress.ticket?.text ?? (await logins.issueTicket(progress))
    const { name } = progress.identity
    const email = progress.confirmedEmail ?? addressOf(progress.identity)
    return new AppError('login_incomplete', 'The login is not complete', {
      reason,
      details: { reason, ticket, email, name },
    })
  }

  async function logInOrRepeat(progress: Progress, client: Client): Promise<IssuedLogin> {
    try {
      return await goOn(progress, client)
    } catch (error) {
      if (!(error instanceof AppError && RACES.includes(error.code))) throw error
      return goOn(progress, client)
    }
  }

  return {
    /** Exchanges the code of a login for a token. Throws `exchange_refused`, and what `complete` throws. */
    exchange: async (
      { code, verifier, remember }: { code: string; verifier: string; remember: RefreshForm | undefined },
      client: Client,
    ): Promise<IssuedLogin> =>
      guardCodeAttempt(core, client, { account: client.address, ...CODE_REFUSED }, async () =>
        logInOrRepeat({ ...(await logins.useCode(db, code, verifier)), remember }, client),
      ),

    /** Mails a code that confirms the address of a login. Throws `exchange_refused`, `invalid_input` and `rate_limited`. */
    async mailCode(
      { ticket, email, language = 'en' }: LoginCompletion & { email?: string | undefined },
      client: Client,
    ): Promise<void> {
      const { stored, ...login } = await logins.readTicket(ticket)
      const address = addressOf(login.identity) ?? email
      if (address === undefined) throw missingEmail()
      await core.limitSignUps(client, address)
      const code = logins.secrets.generateCode()
      const expiresAt = new Date(sharedNow() + reset.ttlSeconds * 1000)
      const content = await logins.sealer.seal(JSON.stringify({ ...login, mailedTo: address }))
      const codeHash = logins.secrets.hash(stored.id, code)
      // The mail does not contain the name: the address may be somebody else's.
      const variables = {
        code,
        provider: labelOf(login),
        ...lifetimeOf(reset.ttlSeconds),
        ...accountOf({ name: null, email: address }),
      }
      await transaction((db) =>
        Promise.all([
          createLoginRepository(db).setCode(stored.id, { codeHash, content, expiresAt }),
          core.mails.accept(db, { template: 'identity-code', to: address, language, variables, expiresAt }),
        ]),
      )
    },

    /**
     * Completes a login by what was missing, and returns a token. Throws `login_incomplete`, `exchange_refused` for every fault of
     * the ticket and the code, `identity_refused`, `identity_unknown`, `second_factor_required` and `username_taken`.
     */
    complete(
      { ticket, code, username, language, remember }: LoginCompletion,
      client: Client,
    ): Promise<IssuedLogin> {
      const [id = ''] = ticket.split('.', 1)
      return guardCodeAttempt(core, client, { account: id, ...CODE_REFUSED }, async () => {
        const { stored, mailedTo, ...login } = await logins.readTicket(ticket)
        if (code !== undefined)
          await requireCode(
            {
              codes: createLoginRepository(db),
              secrets: logins.secrets,
              attempts: reset.attempts,
              refusal: exchangeRefused,
              sharedNow,
            },
            stored.id,
            { code },
          )
        const confirmedEmail = code === undefined ? undefined : mailedTo
        const given = {
          username,
          language,
          remember,
          confirmedEmail,
          ticket: { text: ticket, id: stored.id },
        }
        return logInOrRepeat({ ...login, ...given }, client)
      })
    },
  }
}

const CODE_REFUSED = { code: 'exchange_refused', name: 'identity.refused', reason: 'code' } as const

/** The address that the provider says, where it can be one of a user. */
const addressOf = ({ email }: Pick<Identity, 'email'>): string | undefined =>
  emailAddress().safeParse(email).data

/** Refuses a user who is deleted, as a login by password does. */
function requireUsable(user: User | undefined, { audit }: Client): User {
  if (user && !user.deletedAt) return user
  audit.report({ name: 'login.refused', userid: user?.userid, reason: 'deleted_user' })
  throw new AppError('identity_refused', 'The account of this person cannot be used')
}

function requireFound(user: User | undefined): User {
  if (user) return user
  throw new Error('The user that was stored just now is not in the database')
}

const missingEmail = () =>
  new AppError('invalid_input', 'The body is not valid', {
    details: { errors: [{ path: 'email', message: 'is required' }] },
  })
