import type { components, paths } from '@latchkey/client/types/openapi.d.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import createClient from 'openapi-fetch'
import { expect, it } from 'vitest'
import { codeTo, startApp } from './support/start-app.ts'

type Schemas = components['schemas']

const NEW_PASSWORD = 'an0ther-Horse!'

/** Does what an application does with an account, by a client of generated types. Each call throws unless it is answered 200. */
function connect(baseUrl: string) {
  const client = createClient<paths>({ baseUrl })
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
  return {
    async logIn(username: string, password: string) {
      const { data, error } = await client.POST('/login', { body: { username, password } })
      if (error) throw new Error(error.title)
      return data.token
    },
    async refresh(token: string) {
      const { data, error } = await client.POST('/refreshtoken', bearer(token))
      if (error) throw new Error(error.title)
      return data.token
    },
    async readProfile(token: string) {
      const { data, error } = await client.GET('/profile', bearer(token))
      if (error) throw new Error(error.title)
      return data
    },
    async rename(token: string, name: string) {
      const { data, error } = await client.PUT('/profile', {
        ...bearer(token),
        body: { name, language: 'fr' },
      })
      if (error) throw new Error(error.title)
      return data.name
    },
    async requestReset(email: string) {
      const { data, error } = await client.POST('/login/resetrequest', { body: { email } })
      if (error) throw new Error(error.title)
      return data.token
    },
    async confirmCode(body: Schemas['CodeConfirmation']) {
      const { data, error } = await client.POST('/login/confirmcode', { body })
      if (error) throw new Error(error.title)
      return data.token
    },
    async resetPassword(body: Schemas['NewPassword']) {
      const { error } = await client.POST('/login/resetpassword', { body })
      if (error) throw new Error(error.title)
    },
    async describeRefusal(username: string) {
      const { error } = await client.POST('/login', { body: { username, password: 'wrong' } })
      return error?.detail
    },
    async logOut(token: string) {
      const { error } = await client.POST('/logout', { ...bearer(token), body: {} })
      if (error) throw new Error(error.title)
    },
  }
}

it('does all that an application needs by a generated client', async () => {
  await using app = await startApp()
  const api = connect(await app.server.listen({ host: '127.0.0.1', port: 0 }))
  const user = await aUser(app)
  expect(await api.describeRefusal(user.email)).toBe('The username or the password is wrong')
  const token = await api.logIn(user.email, PASSWORD)
  expect(await api.readProfile(token)).toMatchObject({ email: user.email, name: 'Ada' })
  expect(await api.rename(token, 'Grace')).toBe('Grace')
  await expect(api.refresh(token)).rejects.toThrow()

  const { lifetimeSeconds, refreshWindowSeconds } = app.config.tokens
  app.setClock(Date.now() + (lifetimeSeconds - refreshWindowSeconds + 5) * 1000)
  const refreshed = await api.refresh(token)
  expect(refreshed).not.toBe(token)
  await api.logOut(refreshed)
  await expect(api.readProfile(refreshed)).rejects.toThrow()

  const requested = await api.requestReset(user.email)
  const code = await codeTo(app, user.email)
  const confirmed = await api.confirmCode({ email: user.email, code, token: requested })
  await api.resetPassword({ email: user.email, token: confirmed, password: NEW_PASSWORD })
  await expect(api.logIn(user.email, PASSWORD)).rejects.toThrow()
  expect(await api.logIn(user.email, NEW_PASSWORD)).toBeTruthy()
})
