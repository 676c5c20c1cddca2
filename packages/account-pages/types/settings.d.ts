/** What an installation offers and how it looks: the answer to `GET /account/settings.json`. */
export interface Settings {
  product: string
  support: string | undefined
  /** As `#rrggbb`. */
  colour: string
  login_field: 'email' | 'username'
  refresh_window_seconds: number
  confirms_email: boolean
  sign_up: boolean
  deletion: boolean
  sessions: boolean
  apps: boolean
  passkey_origins: string[]
}
