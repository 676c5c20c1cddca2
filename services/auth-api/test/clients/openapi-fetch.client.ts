import createClient from 'openapi-fetch'
import type { Connect } from '../api.ts'
import type { paths } from './openapi-typescript.ts'

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

export const connect: Connect = (baseUrl) => {
  const client = createClient<paths>({ baseUrl })
  return {
    async logIn(username, password) {
      const { data, error } = await client.POST('/login', { body: { username, password } })
      if (error) throw new Error(error.title)
      return data.token
    },
    async refresh(token) {
      const { data, error } = await client.POST('/refreshtoken', bearer(token))
      if (error) throw new Error(error.title)
      return data.token
    },
    async readProfile(token) {
      const { data, error } = await client.GET('/profile', bearer(token))
      if (error) throw new Error(error.title)
      return data
    },
    async rename(token, name) {
      const { data, error } = await client.PUT('/profile', {
        ...bearer(token),
        body: { name, language: 'fr' },
      })
      if (error) throw new Error(error.title)
      return data.name
    },
    async requestReset(email) {
      const { data, error } = await client.POST('/login/resetrequest', { body: { email } })
      if (error) throw new Error(error.title)
      return data.token
    },
    async confirmCode(body) {
      const { data, error } = await client.POST('/login/confirmcode', { body })
      if (error) throw new Error(error.title)
      return data.token
    },
    async resetPassword(body) {
      const { error } = await client.POST('/login/resetpassword', { body })
      if (error) throw new Error(error.title)
    },
    async describeRefusal(username) {
      const { error } = await client.POST('/login', { body: { username, password: 'wrong' } })
      return error?.detail
    },
    async logOut(token) {
      const { error } = await client.POST('/logout', { ...bearer(token), body: {} })
      if (error) throw new Error(error.title)
    },
  }
}
