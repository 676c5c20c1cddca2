/** What an application does with an account, by a client that a generator has written. Each call throws unless it is answered 200. */
export interface Api {
  /** Resolves with the token. */
  logIn(username: string, password: string): Promise<string>
  refresh(token: string): Promise<string>
  /** Resolves with the e-mail and the name. */
  readProfile(token: string): Promise<{ email: string | null; name: string | null }>
  rename(token: string, name: string): Promise<string | null>
  requestReset(email: string): Promise<string>
  confirmCode(given: { email: string; code: string; token: string }): Promise<string>
  resetPassword(given: { email: string; token: string; password: string }): Promise<void>
  /** The detail of the problem that a login with a wrong password is answered with. */
  describeRefusal(username: string): Promise<string | undefined>
  logOut(token: string): Promise<void>
}

export type Connect = (baseUrl: string) => Api
