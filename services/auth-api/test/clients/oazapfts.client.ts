import { ok } from '@oazapfts/runtime'
import type { Connect } from '../api.ts'
import * as latchkey from './oazapfts.ts'

export const connect: Connect = (baseUrl) => {
  const as = (token: string) => ({ baseUrl, headers: { authorization: `Bearer ${token}` } })
  return {
    logIn: async (username, password) =>
      (await ok(latchkey.login({ username, password }, { baseUrl }))).token,
    refresh: async (token) => (await ok(latchkey.refreshToken(as(token)))).token,
    readProfile: (token) => ok(latchkey.getProfile(as(token))),
    rename: async (token, name) =>
      (await ok(latchkey.updateProfile({ name, language: 'fr' }, as(token)))).name,
    requestReset: async (email) => (await ok(latchkey.requestPasswordReset({ email }, { baseUrl }))).token,
    confirmCode: async (given) => (await ok(latchkey.confirmPasswordResetCode(given, { baseUrl }))).token,
    resetPassword: async (given) => void (await ok(latchkey.resetPassword(given, { baseUrl }))),
    async describeRefusal(username) {
      const answer = await latchkey.login({ username, password: 'wrong' }, { baseUrl })
      return answer.status === 401 ? answer.data.detail : undefined
    },
    logOut: async (token) => void (await ok(latchkey.logout({}, as(token)))),
  }
}
