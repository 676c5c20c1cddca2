import { aTransaction } from '@latchkey/shared/database/test/a-transaction.ts'
import { createNotices, type Notice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { MAIL_TEMPLATES, type MailVariables } from '@latchkey/shared/mail/outbox/mail-templates.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import { LANGUAGE_PROPERTY, LANGUAGES } from '@latchkey/shared/users/user.ts'
import { expect, it } from 'vitest'
import { createTemplateRenderer } from './render-template.ts'

const render = createTemplateRenderer()

/** The sentences that are true in some states only, in each language. */
const SENTENCES = {
  needed: {
    en: 'It is needed to log in from now on.',
    fr: 'Elle est désormais nécessaire pour se connecter.',
    pt: 'A partir de agora é necessária para iniciar sessão.',
  },
  alternative: {
    en: 'You can use it in place of another second factor.',
    fr: 'Vous pouvez l’utiliser à la place d’un autre second facteur.',
    pt: 'Pode usá-la em vez de outro segundo fator.',
  },
  ofAnotherKind: {
    en: 'A second factor was added to your account on',
    fr: 'Une méthode de connexion a été ajoutée à votre compte le',
    pt: 'Uma forma de autenticação foi adicionada à sua conta em',
  },
  noneLeft: {
    en: 'Your account has no second factor any more.',
    fr: 'Votre compte n’a plus de second facteur.',
    pt: 'A sua conta já não tem nenhum segundo fator.',
  },
  allDevices: {
    en: 'Every device has to log in again.',
    fr: 'Chaque appareil doit se reconnecter.',
    pt: 'Todos os dispositivos têm de iniciar sessão novamente.',
  },
  otherDevices: {
    en: 'Every other device has to log in again.',
    fr: 'Chaque autre appareil doit se reconnecter.',
    pt: 'Todos os outros dispositivos têm de iniciar sessão novamente.',
  },
  byAdmin: { en: 'by an administrator', fr: 'par un administrateur', pt: 'por um administrador' },
} satisfies Record<string, Record<(typeof LANGUAGES)[number], string>>
type Sentence = keyof typeof SENTENCES

const USER = '192.0.2.1'
const ADMIN = undefined

const STATES: readonly (readonly [string, Notice, string | undefined, Sentence[]])[] = [
  ['the first app', { template: 'factor-added', kind: 'totp', hadOthers: false }, USER, ['needed']],
  ['the first passkey', { template: 'factor-added', kind: 'passkey', hadOthers: false }, USER, ['needed']],
  [
    'of a further kind',
    { template: 'factor-added', kind: 'pin', hadOthers: false },
    USER,
    ['ofAnotherKind', 'needed'],
  ],
  ['another app', { template: 'factor-added', kind: 'totp', hadOthers: true }, USER, ['alternative']],
  ['another passkey', { template: 'factor-added', kind: 'passkey', hadOthers: true }, USER, ['alternative']],
  ['one of several is removed', { template: 'factor-removed', isLast: false }, USER, []],
  ['the last one is removed', { template: 'factor-removed', isLast: true }, USER, ['noneLeft']],
  ['all are removed', { template: 'factor-removed', isLast: true }, ADMIN, ['noneLeft', 'byAdmin']],
  ['by its user, who stays logged in', { template: 'password-changed' }, USER, ['otherDevices']],
  ['by an admin', { template: 'password-changed' }, ADMIN, ['allDevices', 'byAdmin']],
]

it.each(
  LANGUAGES.flatMap((language) => STATES.map(([state, ...given]) => [language, state, ...given] as const)),
)('says in %s what is true: %s', async (language, _state, notice, origin, expected) => {
  const user = ada({ properties: [{ name: LANGUAGE_PROPERTY, value: language }] })
  const rendered: { html: string; text: string }[] = []
  const notify = createNotices(
    {
      async accept(_transaction, { template, variables }) {
        const parsed: MailVariables = MAIL_TEMPLATES[template].parse(variables)
        const present = Object.entries(parsed).filter((entry): entry is [string, string] => !!entry[1])
        rendered.push(await render(template, language, Object.fromEntries(present)))
        return ''
      },
    },
    () => Date.parse('2026-11-22T11:15:30Z'),
  )
  await notify(aTransaction(), user, notice, origin)
  const [mail] = rendered
  for (const part of [mail?.text ?? '', mail?.html ?? '']) {
    const said = Object.entries(SENTENCES).filter(([, sentence]) => part.includes(sentence[language]))
    expect(said.map(([name]) => name).toSorted()).toEqual([...expected].toSorted())
  }
})
