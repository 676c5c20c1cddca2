/** The settings of an installation for its pages: the answer to `GET /account/settings.json`. */
export interface Settings {
  product: string
  support: string | undefined
  /** As `#rrggbb`. */
  colour: string
  login_field: 'email' | 'username'
  refresh_window_seconds: number
  /** After how many wrong ones a mailed code ends. */
  code_attempts: number
  confirms_email: boolean
  mail_login: boolean
  sign_up: boolean
  deletion: boolean
  apps: boolean
  passkey_origins: string[]
}
