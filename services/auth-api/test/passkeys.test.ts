import { randomBytes } from 'node:crypto'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { countRows } from '@latchkey/test-support/test-database.ts'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import { decodeJwt } from 'jose'
import type { WebAuthnEmulator } from 'nid-webauthn-emulator'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answer, challengeOf, codeAt, enrol, enrolUser, post } from './support/factors.ts'
import { aDevice, ORIGIN, passkeySettings } from './support/passkeys.ts'
import { aToken, bearer, logIn, mailTo, queuedMails, startApp, type TestApp } from './support/start-app.ts'

const typeOf = (name: string) => `urn:latchkey:problem:${name}`

let app: TestApp
beforeAll(async () => {
  app = await startApp({ settings: passkeySettings({ SECOND_FACTOR_ROLES: 'admin' }) })
})
afterEach(() => app.setClock(undefined))
afterAll(() => app[Symbol.asyncDispose]())

interface Device {
  origin?: string
  emulator?: WebAuthnEmulator
}

const publicKeyOf = async (url: string, payload: object, token?: string) => {
  const response = await post(app, url, payload, token)
  if (response.statusCode !== 200) throw new Error(`${url} was answered ${response.body}`)
  return response.json().publicKey
}

const creationOptions = (token: string) =>
  publicKeyOf('/profile/factors/passkey', { current_password: PASSWORD }, token)

const create = async (token: string, { origin = ORIGIN, emulator = aDevice() }: Device = {}) =>
  emulator.createJSON(origin, await creationOptions(token))

const confirm = (token: string, credential: unknown, name?: string) =>
  post(app, '/profile/factors/passkey/confirm', { name, credential }, token)

/** Adds a passkey of `emulator` to a user; returns the token that was won by it. */
async function aPasskey(user: TestUser, emulator: WebAuthnEmulator, name?: string): Promise<string> {
  const token = await aToken(app, user)
  const response = await confirm(token, await create(token, { emulator }), name)
  if (response.statusCode !== 200) throw new Error(`The passkey was answered ${response.body}`)
  return response.json().token
}

const sign = async (emulator: WebAuthnEmulator, challenge?: string, origin = ORIGIN) =>
  emulator.getJSON(origin, await publicKeyOf('/login/passkey/options', { challenge }))

const send = (credential: unknown) => post(app, '/login/passkey', { credential })

const list = async (token: string) =>
  (await app.server.inject({ url: '/profile/factors', headers: bearer(token) })).json().factors

const eventsOf = async ({ userid }: TestUser): Promise<string[]> => {
  const logged = app.logLines.map((line) => JSON.parse(line)).filter((line) => line.userid === userid)
  return logged.map(({ msg }) => msg)
}

describe('a new passkey', () => {
  it('is created by the options, named, listed and mailed, and raises the token', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const options = await creationOptions(token)
    expect(options).toMatchObject({
      rp: { id: 'example.com', name: 'Latchkey' },
      user: { name: user.email, displayName: 'Ada' },
      attestation: 'none',
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    })
    expect(Buffer.from(options.user.id, 'base64url').toString('hex')).toBe(user.userid.replaceAll('-', ''))
    const response = await confirm(token, aDevice().createJSON(ORIGIN, options), 'Laptop')
    expect(response.statusCode, response.body).toBe(200)
    const { recovery_codes: recoveryCodes, token: raised } = response.json()
    expect(recoveryCodes).toHaveLength(10)
    expect(decodeJwt(raised)).toMatchObject({
      sid: decodeJwt(token).sid,
      amr: ['pwd', expect.stringMatching(/^[hs]wk$/), 'user', 'mfa'],
    })
    expect(await list(raised)).toEqual([expect.objectContaining({ kind: 'passkey', name: 'Laptop' })])
    expect(await mailTo(app, user.email, 'factor-added')).toMatchObject({ variables: { passkey: 'passkey' } })
    expect(await eventsOf(user)).toContain('factor.added')
    const sessions = await app.server.inject({ url: '/sessions', headers: bearer(raised) })
    expect(sessions.json().sessions).toHaveLength(1)
  })

  it('needs the current password, and of a user with a factor a token that was won by it', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const wrong = await post(app, '/profile/factors/passkey', { current_password: 'wrong' }, token)
    expect(wrong.json().type).toBe(typeOf('wrong-password'))
    expect((await confirm(token, await create(token))).statusCode).toBe(200)
    const stale = await post(app, '/profile/factors/passkey', { current_password: PASSWORD }, token)
    expect(stale.json()).toMatchObject({
      type: typeOf('insufficient-user-authentication'),
      detail: 'A second factor is required; confirm it by POST /login/stepup, or add one first',
    })
  })

  it('is refused from another origin, for another user, and twice', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const [token, others] = [await aToken(app, user), await aToken(app, other)]
    const emulator = aDevice()
    const foreign = await aDevice().createJSON('https://evil.example.com', await creationOptions(token))
    const refused = await confirm(token, foreign)
    expect(refused.json()).toMatchObject({ type: typeOf('passkey-refused'), status: 422 })
    expect(refused.json().detail).toContain(ORIGIN)
    expect(refused.json().detail).not.toContain('evil')
    const credential = await create(token, { emulator })
    expect((await confirm(others, credential)).json().type).toBe(typeOf('challenge-refused'))
    const both = await Promise.all([confirm(token, credential), confirm(token, credential)])
    expect(both.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 422])
    expect((await confirm(token, credential)).json().type).toBe(typeOf('challenge-refused'))
    expect(
      await countRows(app.database.db, "user_factor where kind = 'passkey' and name is null"),
    ).toBeGreaterThan(0)
  })

  it('is one of two that were begun at once, for the second of which the user begins again', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const [first, second] = [await creationOptions(token), await creationOptions(token)]
    const responses = await Promise.all(
      [first, second].map((options) => confirm(token, aDevice().createJSON(ORIGIN, options))),
    )
    expect(responses.map(({ statusCode }) => statusCode).toSorted()).toEqual([200, 422])
    const added = responses.find(({ statusCode }) => statusCode === 200)?.json()
    expect(added.recovery_codes).toHaveLength(10)
    const again = await confirm(added.token, await create(added.token))
    expect(again.json().recovery_codes, 'recovery codes are shown once').toEqual([])
    const { excludeCredentials } = await creationOptions(again.json().token)
    expect(excludeCredentials).toHaveLength(2)
    // The second one is not "needed from now on".
    const told = async () =>
      (await queuedMails(app))
        .filter(({ to, template }) => to === user.email && template === 'factor-added')
        .map(({ variables }) => variables.others ?? 'first')
        .toSorted()
    await expect.poll(told).toEqual(['first', 'others'])
  })

  it('is refused when the user has it already, where the browser did not see that', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const made = await create(token)
    const raised = (await confirm(token, made)).json().token
    const { challenge } = await creationOptions(raised)
    const clientData = JSON.parse(Buffer.from(made.response.clientDataJSON, 'base64url').toString())
    const clientDataJSON = Buffer.from(JSON.stringify({ ...clientData, challenge })).toString('base64url')
    const again = await confirm(raised, { ...made, response: { ...made.response, clientDataJSON } })
    expect(again.json()).toMatchObject({ type: typeOf('passkey-refused') })
    expect(again.json().detail).toContain('already')
  })

  it('waits five minutes at most', async () => {
    const token = await aToken(app, await aUser(app))
    const credential = await create(token)
    app.setClock(Date.now() + 301_000)
    expect((await confirm(token, credential)).json().type).toBe(typeOf('challenge-refused'))
  })

  it('is the eleventh of a user: refused', async () => {
    const user = await aUser(app)
    let token = await aPasskey(user, aDevice())
    const begun = await create(token)
    for (let count = 2; count <= 10; count++) token = (await confirm(token, await create(token))).json().token
    expect((await confirm(token, begun)).json().type, 'begun before').toBe(typeOf('challenge-refused'))
    const refused = await post(app, '/profile/factors/passkey', { current_password: PASSWORD }, token)
    expect(refused.json()).toMatchObject({ type: typeOf('too-many-factors'), status: 409 })
  })

  it.each([
    { name: 'x'.repeat(300) },
    { name: '' },
    { name: 'a\u202eb' },
    { credential: {} },
    { credential: null },
    { credential: 'x' },
    { response: { clientDataJSON: 'e30', attestationObject: 'o2M' } },
    { response: { clientDataJSON: '===' } },
    { response: { attestationObject: 'A'.repeat(9_000) } },
    { response: { attestationObject: 'oA' } },
    { response: { attestationObject: 'AA' } },
    // A map with the format `packed` and nothing else.
    { response: { attestationObject: 'oWNmbXRmcGFja2Vk' } },
    { response: { attestationObject: '_____w' } },
    { response: { clientDataJSON: Buffer.from('null').toString('base64url') } },
    { response: { clientDataJSON: Buffer.from('{"type":"webauthn.get"}').toString('base64url') } },
    { id: 'AAAA' },
    { type: 'password' },
  ])('refuses %j without a fault of the server', async ({ name, credential, response, ...given }) => {
    const token = await aToken(app, await aUser(app))
    const made = await create(token)
    const sent = { ...made, ...given, response: { ...made.response, ...response } }
    const answer = await confirm(token, credential === undefined ? sent : credential, name)
    expect([400, 422], answer.body).toContain(answer.statusCode)
  })

  /** Sends a new passkey whose attestation `change` has changed. */
  async function confirmChanged(change: (attestation: Map<string, unknown>) => void) {
    const token = await aToken(app, await aUser(app))
    const made = await create(token)
    const attestation: Map<string, unknown> = isoCBOR.decodeFirst(
      Uint8Array.from(Buffer.from(made.response.attestationObject, 'base64url')),
    )
    change(attestation)
    const attestationObject = Buffer.from(isoCBOR.encode(attestation as never)).toString('base64url')
    return confirm(token, { ...made, response: { ...made.response, attestationObject } })
  }

  it('is refused with a certificate of its maker, which could name an address to fetch', async () => {
    const answer = await confirmChanged((attestation) => {
      attestation.set('fmt', 'packed')
      attestation.set(
        'attStmt',
        new Map<string, unknown>([
          ['alg', -7],
          ['sig', new Uint8Array(70)],
          ['x5c', [new Uint8Array(10)]],
        ]),
      )
    })
    expect(answer.json()).toMatchObject({ type: typeOf('passkey-refused') })
    expect(answer.json().detail).toBe(
      'The passkey sent a certificate of its maker; create it with the attestation "none"',
    )
  })

  it.each([
    { where: 'on several devices', flags: 0x08, method: 'swk' },
    { where: 'on one device', flags: 0, method: 'hwk' },
  ])('that can be $where is $method in the token', async ({ flags, method }) => {
    const answer = await confirmChanged((attestation) => {
      const authData = Uint8Array.from(attestation.get('authData') as Uint8Array)
      // The flags of the backup are 0x08 and 0x10 (WebAuthn §6.1).
      authData[32] = ((authData[32] ?? 0) & ~0x18) | flags
      attestation.set('fmt', 'none').set('attStmt', new Map()).set('authData', authData)
    })
    expect(answer.statusCode, answer.body).toBe(200)
    expect(decodeJwt(answer.json().token).amr).toEqual(['pwd', method, 'user', 'mfa'])
  })

  it.each([
    { bytes: 512, status: 200 },
    { bytes: 1_200, status: 422 },
  ])('with a modulus of $bytes bytes is answered $status', async ({ bytes, status }) => {
    const answer = await confirmChanged((attestation) => {
      const authData = Buffer.from(attestation.get('authData') as Uint8Array)
      const beforeKey = authData.subarray(0, 55 + authData.readUInt16BE(53))
      const key = isoCBOR.encode(
        new Map<number, unknown>([
          [1, 3],
          [3, -257],
          [-1, new Uint8Array(bytes).fill(255)],
          [-2, new Uint8Array([1, 0, 1])],
        ]) as never,
      )
      attestation.set('fmt', 'none').set('attStmt', new Map())
      attestation.set('authData', Uint8Array.from(Buffer.concat([beforeKey, key])))
    })
    expect(answer.statusCode, answer.body).toBe(status)
  })
})

describe('a login with the password and a passkey', () => {
  it('exchanges the challenge and what the passkey signed for a token', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    const refusal = (await logIn(app, user.email)).json()
    expect(refusal).toMatchObject({ type: typeOf('second-factor-required'), factors: ['passkey'] })
    const won = await send(await sign(emulator, refusal.challenge))
    expect(won.statusCode, won.body).toBe(200)
    expect(Object.keys(won.json()).toSorted()).toEqual(['data', 'token'])
    expect(won.json().data.userid).toBe(user.userid)
    expect(decodeJwt(won.json().token)).toMatchObject({
      amr: ['pwd', expect.stringMatching(/^[hs]wk$/), 'user', 'mfa'],
    })
  })

  it('takes a passkey that verifies nobody: the password is there already', async () => {
    const user = await aUser(app)
    const touch = () => ({ options: { uv: false, up: true } })
    const emulator = aDevice({ userMakeCredentialInteraction: touch, userGetAssertionInteraction: touch })
    await aPasskey(user, emulator)
    expect((await send(await sign(emulator, await challengeOf(app, user)))).statusCode).toBe(200)
    const options = await publicKeyOf('/login/passkey/options', {})
    const alone = await send(emulator.getJSON(ORIGIN, { ...options, userVerification: 'discouraged' }))
    expect(alone.json()).toMatchObject({ type: typeOf('passkey-refused') })
    expect(alone.json().detail).toBe(
      'This passkey does not verify who uses it, by a PIN or a fingerprint; log in with the password, and use it then',
    )
  })

  it('refuses the passkey of another user, and the challenge of one for the code of the other', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const [own, others] = [aDevice(), aDevice()]
    await aPasskey(user, own)
    await aPasskey(other, others)
    const options = await publicKeyOf('/login/passkey/options', { challenge: await challengeOf(app, user) })
    const foreign = others.getJSON(ORIGIN, { ...options, allowCredentials: [] })
    expect((await send(foreign)).json().type).toBe(typeOf('passkey-refused'))
    // The id of the right one, signed by the wrong one.
    const id = options.allowCredentials[0].id
    expect((await send({ ...foreign, id, rawId: id })).json().type).toBe(typeOf('passkey-refused'))
  })

  it('refuses a challenge of another purpose', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    const token = await aPasskey(user, emulator)
    const registration = (await creationOptions(token)).challenge
    const { challenge: stepUp } = await publicKeyOf('/login/stepup/passkey/options', {}, token)
    const { challenge: alone } = await publicKeyOf('/login/passkey/options', {})
    const options = await publicKeyOf('/login/passkey/options', {})
    for (const challenge of [registration, stepUp]) {
      const signed = emulator.getJSON(ORIGIN, { ...options, challenge })
      expect((await send(signed)).json().type).toBe(typeOf('challenge-refused'))
    }
    const text = (challenge: string) => Buffer.from(challenge, 'base64url').toString()
    for (const challenge of [registration, stepUp, alone]) {
      const answer = await post(app, '/login/secondfactor', { challenge: text(challenge), code: '000000' })
      expect(answer.json().type).toBe(typeOf('challenge-refused'))
      const begun = await post(app, '/login/passkey/options', { challenge: text(challenge) })
      expect(begun.json().type).toBe(typeOf('challenge-refused'))
    }
    for (const challenge of [registration, alone, Buffer.from(token).toString('base64url')]) {
      const signed = emulator.getJSON(ORIGIN, { ...options, challenge })
      const raised = await post(app, '/login/stepup/passkey', { credential: signed }, token)
      expect(raised.json().type).toBe(typeOf('challenge-refused'))
    }
  })
})

describe('a login with a passkey alone', () => {
  it('needs no name and no password, and says how the token was won', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    const options = await publicKeyOf('/login/passkey/options', {})
    expect(options).toMatchObject({ rpId: 'example.com', userVerification: 'required', allowCredentials: [] })
    const won = await send(emulator.getJSON('https://app.example.com', options))
    expect(won.statusCode, won.body).toBe(200)
    expect(won.json().data.userid).toBe(user.userid)
    expect(decodeJwt(won.json().token)).toMatchObject({
      amr: [expect.stringMatching(/^[hs]wk$/), 'user', 'mfa'],
    })
    const factors = await list(won.json().token)
    expect(factors[0].last_used_at).not.toBeNull()
    expect(await eventsOf(user)).toContain('login.succeeded')
  })

  it('is refused to an unknown passkey, a removed one, a deleted user, and the user handle of somebody else', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const emulator = aDevice()
    const token = await aPasskey(user, emulator)
    await aPasskey(other, aDevice())
    const unknown = aDevice()
    unknown.createJSON(ORIGIN, await creationOptions(token))
    expect((await send(await sign(unknown))).json()).toMatchObject({
      type: typeOf('passkey-refused'),
      detail: 'This passkey belongs to no account here; log in another way, and add it then',
    })
    const signed = await sign(emulator)
    const userHandle = Buffer.from(other.userid.replaceAll('-', ''), 'hex').toString('base64url')
    const swapped = await send({ ...signed, response: { ...signed.response, userHandle } })
    expect(swapped.json().type).toBe(typeOf('passkey-refused'))
    const random = randomBytes(16).toString('base64url')
    for (const handle of [undefined, null, 'AAAA', random]) {
      const given = await sign(emulator)
      const answer = await send({ ...given, response: { ...given.response, userHandle: handle } })
      expect(answer.statusCode, answer.body).toBe(422)
      expect(answer.json().detail).toContain(handle === random ? 'belongs to no account' : 'is not valid')
    }
    const [factor] = await list(token)
    const removed = await app.server.inject({
      method: 'DELETE',
      url: `/profile/factors/${factor.id}`,
      headers: bearer(token),
    })
    expect(removed.statusCode, removed.body).toBe(204)
    expect((await send(await sign(emulator))).json().type).toBe(typeOf('passkey-refused'))
    expect((await logIn(app, user.email)).statusCode).toBe(200)
  })

  it('ends with the user', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    await app.users.softDelete(user.userid)
    expect((await send(await sign(emulator))).statusCode).toBe(422)
  })

  it.each([
    { why: 'another origin', origin: 'https://evil.example.com' },
    { why: 'another scheme', origin: 'http://login.example.com' },
    { why: 'another port', origin: 'https://login.example.com:8443' },
  ])('is refused from $why, with the origins that are right', async ({ origin }) => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    const signed = await sign(emulator)
    const clientData = JSON.parse(Buffer.from(signed.response.clientDataJSON, 'base64url').toString())
    const clientDataJSON = Buffer.from(JSON.stringify({ ...clientData, origin })).toString('base64url')
    const answer = await send({ ...signed, response: { ...signed.response, clientDataJSON } })
    expect(answer.json()).toMatchObject({ type: typeOf('passkey-refused'), status: 422 })
    expect(answer.json().detail).toContain(`${ORIGIN}, https://app.example.com`)
    // Any page can cause the refusal, so the operator reads it once.
    expect(app.logLines.filter((line) => line.includes('PASSKEY_ORIGINS'))).toHaveLength(1)
    expect(answer.json().detail).not.toContain('PASSKEY_ORIGINS')
  })

  it('is refused from a frame of another page, and for another relying party', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    const signed = await sign(emulator)
    const clientData = JSON.parse(Buffer.from(signed.response.clientDataJSON, 'base64url').toString())
    const framed = Buffer.from(JSON.stringify({ ...clientData, crossOrigin: true })).toString('base64url')
    const answer = await send({ ...signed, response: { ...signed.response, clientDataJSON: framed } })
    expect(answer.json()).toMatchObject({
      detail: expect.stringContaining('outside frames; open one of these pages'),
    })
    await using elsewhere = await startApp({
      settings: passkeySettings({
        PASSKEY_RP_ID: 'login.example.com',
        PASSKEY_ORIGINS: ORIGIN,
        FACTOR_SECRET: Buffer.from(app.config.secondFactor.secret ?? []).toString('base64'),
      }),
      database: app.database,
    })
    const there = await post(elsewhere, '/login/passkey', { credential: await sign(emulator) })
    expect(there.json().type).toBe(typeOf('passkey-refused'))
  })

  it('is refused, and reported, where the counter went back', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    const token = await aPasskey(user, emulator)
    const older = await sign(emulator)
    expect((await send(await sign(emulator))).statusCode).toBe(200)
    const copied = await send(older)
    expect(copied.json()).toMatchObject({ type: typeOf('passkey-refused'), status: 422 })
    expect(copied.json().detail).toBe(
      'The counter of this passkey went back, so there may be a copy of it; log in another way, and remove the passkey',
    )
    expect(await eventsOf(user)).toContain('passkey.copied')
    expect((await send(await sign(emulator))).statusCode, 'the newer one stays usable').toBe(200)
    expect(await list(token)).toHaveLength(1)
  })

  it('is refused, and reported, where the counter went back to none', async () => {
    const user = await aUser(app)
    const emulator = aDevice({ signCounterIncrement: 0 })
    await aPasskey(user, emulator)
    const { db } = app.database
    const text = 'update user_factor set last_counter = 7 where userid = $1'
    await db.execute({ name: 'test-count', text }, [db.toUuidValue(user.userid)])
    expect((await send(await sign(emulator))).json().detail).toContain('counter of this passkey went back')
    expect(await eventsOf(user)).toContain('passkey.copied')
  })

  it('accepts an authenticator that does not count, and says nothing of a forged counter', async () => {
    const user = await aUser(app)
    const emulator = aDevice({ signCounterIncrement: 0 })
    await aPasskey(user, emulator)
    for (const _ of Array(3).keys()) expect((await send(await sign(emulator))).statusCode).toBe(200)
    const signed = await sign(emulator)
    const forged = Buffer.from(signed.response.authenticatorData, 'base64url')
    forged.writeUInt32BE(0, 33)
    const signature = Buffer.from(signed.response.signature, 'base64url')
    signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1
    const answer = await send({
      ...signed,
      response: {
        ...signed.response,
        authenticatorData: forged.toString('base64url'),
        signature: signature.toString('base64url'),
      },
    })
    expect(answer.json()).toMatchObject({
      type: typeOf('passkey-refused'),
      detail: 'The response of the passkey is not valid; try again',
    })
    expect(await eventsOf(user)).not.toContain('passkey.copied')
  })

  it('expires after five minutes', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    const signed = await sign(emulator)
    app.setClock(Date.now() + 301_000)
    expect((await send(signed)).json().type).toBe(typeOf('challenge-refused'))
  })

  it.each([
    {},
    { credential: null },
    { credential: { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: {} } },
    { challenge: 5 },
  ])('refuses the body %j', async (body) => {
    expect((await post(app, '/login/passkey', body)).statusCode).toBe(400)
  })

  it.each([
    { authenticatorData: 'AAAA' },
    { authenticatorData: randomBytes(500).toString('base64url') },
    { signature: 'AAAA' },
    { clientDataJSON: 'AAAA' },
    { clientDataJSON: Buffer.from('[]').toString('base64url') },
    {
      clientDataJSON: Buffer.from(
        `{"type":"webauthn.get","challenge":"${'A'.repeat(2_500)}","origin":"${ORIGIN}"}`,
      ).toString('base64url'),
    },
  ])('refuses the response %j without a fault of the server', async (response) => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    const signed = await sign(emulator)
    const answer = await send({ ...signed, response: { ...signed.response, ...response } })
    expect([400, 422], answer.body).toContain(answer.statusCode)
  })
})

describe('a passkey', () => {
  it('raises the token at hand', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    const { token } = (await send(await sign(emulator))).json()
    app.setClock(Date.now() + 600_000)
    const options = await publicKeyOf('/login/stepup/passkey/options', {}, token)
    const raised = await post(
      app,
      '/login/stepup/passkey',
      { credential: emulator.getJSON(ORIGIN, options) },
      token,
    )
    expect(raised.statusCode, raised.body).toBe(200)
    const [before, after] = [decodeJwt(token), decodeJwt(raised.json().token)]
    expect(after.sid).toBe(before.sid)
    expect(Number(after.auth_time)).toBeGreaterThan(Number(before.auth_time))
    const begun = await post(
      app,
      '/profile/factors/passkey',
      { current_password: PASSWORD },
      raised.json().token,
    )
    expect(begun.statusCode).toBe(200)
  })

  it('raises a token once by what it has signed, also where it does not count', async () => {
    const user = await aUser(app)
    const emulator = aDevice({ signCounterIncrement: 0 })
    const token = await aPasskey(user, emulator)
    const options = await publicKeyOf('/login/stepup/passkey/options', {}, token)
    const credential = emulator.getJSON(ORIGIN, options)
    expect((await post(app, '/login/stepup/passkey', { credential }, token)).statusCode).toBe(200)
    const again = await post(app, '/login/stepup/passkey', { credential }, token)
    expect(again.json().type).toBe(typeOf('challenge-refused'))
  })

  it('has five attempts for the challenge of a step-up', async () => {
    await using other = await startApp({ settings: passkeySettings({ RATE_LIMIT_LOGIN: '0' }) })
    const emulator = aDevice()
    const token = await aToken(other, await aUser(other))
    const creation = await post(other, '/profile/factors/passkey', { current_password: PASSWORD }, token)
    const created = emulator.createJSON(ORIGIN, creation.json().publicKey)
    const added = await post(other, '/profile/factors/passkey/confirm', { credential: created }, token)
    const { token: raised } = added.json()
    const { publicKey } = (await post(other, '/login/stepup/passkey/options', {}, raised)).json()
    const right = emulator.getJSON(ORIGIN, publicKey)
    const wrong = { ...right, response: { ...right.response, signature: 'AAAA' } }
    const stepUp = async (credential: unknown) =>
      (await post(other, '/login/stepup/passkey', { credential }, raised)).json()
    for (let attempt = 0; attempt < 5; attempt++)
      expect(await stepUp(wrong)).toMatchObject({ type: typeOf('passkey-refused') })
    expect(await stepUp(right)).toMatchObject({ type: typeOf('challenge-refused') })
  })

  it('is what a user with a code can use, too, and the other way round', async () => {
    const user = await aUser(app)
    const now = Date.now()
    const { token } = await enrolUser(app, user, now)
    const emulator = aDevice()
    const added = await confirm(token, await create(token, { emulator }))
    expect(added.json().recovery_codes, 'there are some already').toEqual([])
    const refusal = (await logIn(app, user.email)).json()
    expect(refusal.factors.toSorted()).toEqual(['passkey', 'totp'])
    expect((await send(await sign(emulator, refusal.challenge))).statusCode).toBe(200)
  })

  it('is asked for no code, and counts as no app', async () => {
    const user = await aUser(app)
    const now = Date.now()
    let enrolled = await enrol(app, await aPasskey(user, aDevice()), now)
    for (let more = 0; more < 2; more++) enrolled = await enrol(app, enrolled.token, now)
    const won = await answer(app, await challengeOf(app, user), codeAt(enrolled.secret, now + 30_000))
    expect(won.statusCode, won.body).toBe(200)
    const log = app.logLines.filter((line) => line.includes(user.userid)).join('\n')
    expect(log).not.toContain('cannot be opened')
  })

  it('can be named by its owner, and by nobody else', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    const [token, others] = [await aPasskey(user, aDevice()), await aPasskey(other, aDevice())]
    const [{ id }] = await list(token)
    const rename = async (name: string, by: string, of = id) =>
      (
        await app.server.inject({
          method: 'PUT',
          url: `/profile/factors/${of}`,
          headers: bearer(by),
          payload: { name },
        })
      ).statusCode
    expect(await rename('Phone', token)).toBe(204)
    // MySQL would count no row for a name that stays.
    expect(await rename('Phone', token)).toBe(204)
    expect(await rename('Mine', others)).toBe(404)
    expect(await rename('x'.repeat(300), token)).toBe(400)
    expect(await rename('x', token, 'x')).toBe(400)
    expect(await list(token)).toEqual([expect.objectContaining({ id, name: 'Phone' })])
  })

  it('says that a user without one has none', async () => {
    const user = await aUser(app)
    await enrolUser(app, user, Date.now())
    const answer = await post(app, '/login/passkey/options', { challenge: await challengeOf(app, user) })
    expect(answer.json()).toMatchObject({
      type: typeOf('passkey-refused'),
      detail: 'You have no passkey; use another factor',
    })
  })

  it('is limited like a login, by address and by account', async () => {
    await using strict = await startApp({ settings: passkeySettings({ RATE_LIMIT_LOGIN: '3' }) })
    const options = async () => (await post(strict, '/login/passkey/options', {})).json().publicKey
    const emulator = aDevice()
    const made = emulator.createJSON(ORIGIN, {
      ...(await options()),
      rp: { id: 'example.com', name: 'x' },
      user: { id: randomBytes(16).toString('base64url'), name: 'x', displayName: 'x' },
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    })
    expect(made.id).toBeTruthy()
    const statuses: number[] = []
    for (let guess = 0; guess < 5; guess++) {
      const credential = emulator.getJSON(ORIGIN, await options())
      statuses.push((await post(strict, '/login/passkey', { credential })).statusCode)
    }
    expect(statuses).toEqual([422, 422, 422, 429, 429])
  })

  it.each([
    { SECOND_FACTOR: 'off', SECOND_FACTOR_ROLES: '' },
    { PASSKEY_ORIGINS: '', PASSKEY_RP_ID: '', API_SERVER: 'https://192.0.2.7' },
  ])('has no route where it is off by %j', async (settings) => {
    await using silent = await startApp({ settings: passkeySettings(settings) })
    expect((await post(silent, '/login/passkey/options', {})).statusCode).toBe(404)
  })

  it('causes a mail to its owner where several are refused after the password, not without it', async () => {
    const user = await aUser(app)
    const emulator = aDevice()
    await aPasskey(user, emulator)
    async function fail(address: string, challenge?: string) {
      const credential = await sign(emulator, challenge)
      const forged = { ...credential, response: { ...credential.response, signature: 'AAAA' } }
      const response = await app.server.inject({
        method: 'POST',
        url: '/login/passkey',
        payload: { credential: forged },
        remoteAddress: address,
      })
      expect(response.json().type).toBe(typeOf('passkey-refused'))
    }
    for (let guess = 1; guess <= 5; guess++) await fail(`10.9.0.${guess}`)
    for (let guess = 1; guess <= 5; guess++) await fail(`10.0.0.${guess}`, await challengeOf(app, user))
    // It is the only mail of a day: without the password five would have caused it before.
    expect(await mailTo(app, user.email, 'failed-factors')).toMatchObject({
      variables: { count: '5', address: '10.0.*.*' },
    })
  })

  it('leaves its refusal in the audit trail, with nothing of what the client sent', async () => {
    await using told = await startApp({ settings: passkeySettings(), auditFlushMs: 20 })
    const user = await aUser(told)
    const options = (await post(told, '/login/passkey/options', {})).json().publicKey
    const emulator = aDevice()
    emulator.createJSON(ORIGIN, {
      ...options,
      rp: { id: 'example.com', name: 'x' },
      user: {
        id: Buffer.from(user.userid.replaceAll('-', ''), 'hex').toString('base64url'),
        name: 'x',
        displayName: 'x',
      },
      pubKeyCredParams: [{ type: 'public-key', alg: -7 }],
    })
    await post(told, '/login/passkey', { credential: emulator.getJSON(ORIGIN, options) })
    const trail = createAuditRepository(told.database.db)
    await expect
      .poll(async () => (await trail.findNewest(user.userid, 10)).map(({ name }) => name))
      .toContain('passkey.refused')
  })
})
