import { client } from '../api.js'
import { h, section } from '../element.js'
import { form } from '../form.js'
import { describeTime, fillText, texts } from '../language.js'
import { go, refresh } from '../router.js'

/** @import { Schemas } from '../api.js' */

/** Lists where the user is logged in. */
export async function devices() {
  const { sessions } = await client.request('GET', '/sessions')
  return {
    title: texts.devices,
    content: [...sessions.map(deviceCard), section(texts.everywhere, everywhereForm())],
  }
}

/** @param {Schemas['Sessions']['sessions'][number]} session */
function deviceCard({ id, current, remembered, created_at, refreshed_at, address, agent }) {
  const device = describeAgent(agent)
  const end = form({
    button: texts.logOutDevice,
    about: `${device}, ${describeTime(created_at)}`,
    kind: 'secondary',
    async send() {
      await client.request('DELETE', `/sessions/${id}`)
      await refresh(fillText(texts.loggedOutDevice, { device }))
    },
  })
  return section(
    device,
    current && h('p', {}, h('strong', {}, texts.thisDevice)),
    h(
      'p',
      {},
      fillText(texts.since, { time: describeTime(created_at) }),
      h('br'),
      fillText(texts.lastUsed, { time: describeTime(refreshed_at), address }),
      ...(remembered ? [h('br'), texts.remembered] : []),
    ),
    !current && end,
  )
}

function everywhereForm() {
  return form({
    fields: [h('p', {}, texts.everywhereHint)],
    button: texts.logOutEverywhere,
    kind: 'secondary',
    async send() {
      await client.logOut({ everywhere: true })
      await go('login', null, { status: texts.loggedOut })
    },
  })
}

const BROWSERS = {
  Edg: 'Edge',
  OPR: 'Opera',
  Firefox: 'Firefox',
  FxiOS: 'Firefox',
  CriOS: 'Chrome',
  Chrome: 'Chrome',
  Safari: 'Safari',
}
const SYSTEMS = {
  iPhone: 'iPhone',
  iPad: 'iPad',
  Android: 'Android',
  Windows: 'Windows',
  Macintosh: 'macOS',
  Linux: 'Linux',
}

/**
 * Names a browser and its system by the User-Agent, which is any text that a client has sent.
 * @param {string | null} agent
 */
function describeAgent(agent) {
  /** @param {Record<string, string>} names */
  const find = (names) => Object.entries(names).find(([part]) => agent?.includes(part))?.[1]
  const [browser, system] = [find(BROWSERS), find(SYSTEMS)]
  return browser && system ? `${browser} · ${system}` : (agent?.slice(0, 60) ?? texts.unknownDevice)
}
