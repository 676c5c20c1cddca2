import { createClient } from '@latchkey/client'

const { url } = await (await fetch('settings.json')).json()
const client = createClient({ url, session: 'cookie', origins: [location.origin] })
/** @type {any} The sign-up that waits for its code. */
let signUp

/**
 * Runs what the user has asked for, says that it runs, and then what went wrong.
 * @param {() => Promise<unknown>} work
 */
async function run(work) {
  $('message').textContent = 'Loading …'
  try {
    await work()
    $('message').textContent = ''
  } catch (/** @type {any} */ error) {
    /** @type {{ rule: string }[]} */
    const violations = error.problem?.violations ?? []
    $('message').textContent = [error.message, ...violations.map(({ rule }) => rule)].join(' ')
  }
}

/** @type {(path: string, init?: RequestInit) => Promise<any>} */
async function api(path, init) {
  const response = await client.fetch(`/api/todos${path}`, init)
  if (!response.ok) throw new Error(`The server has answered ${response.status}`)
  return response.status === 204 ? undefined : response.json()
}

async function show() {
  const { user } = client
  for (const id of ['login', 'code', 'todos']) $(id).hidden = id !== (user ? 'todos' : 'login')
  $('list').replaceChildren()
  $('name').textContent = user?.name || 'you'
  const todos = user ? await api('') : []
  if (client.user?.userid === user?.userid) $('list').replaceChildren(...todos.map(toItem))
}

/** @param {{ id: number, title: string }} todo */
function toItem({ id, title }) {
  const [item, button] = [document.createElement('li'), document.createElement('button')]
  button.textContent = 'Done'
  button.onclick = () => run(() => api(`/${id}`, { method: 'DELETE' }).then(show))
  item.append(title, ' ', button)
  return item
}

/**
 * Calls `work` with the values of a form that is sent, and with the button's.
 * @param {string} id
 * @param {(values: any, button?: string) => Promise<unknown>} work
 */
function onSubmit(id, work) {
  const form = /** @type {HTMLFormElement} */ ($(id))
  form.onsubmit = (event) => {
    event.preventDefault()
    const button = /** @type {HTMLButtonElement | null} */ (event.submitter)?.value
    void run(() => work(Object.fromEntries(new FormData(form)), button).then(() => form.reset()))
  }
}

onSubmit('login', async ({ email, password }, button) => {
  if (button !== 'signUp') return void (await client.logIn({ username: email, password }))
  const username = `todo-${crypto.randomUUID().slice(0, 8)}`
  signUp = { email, ...(await client.signUp({ email, password, username })) }
  $('code').hidden = false
})
onSubmit('code', ({ code }) => client.confirmSignUp({ ...signUp, code }))
onSubmit('add', async (todo) => {
  const headers = { 'content-type': 'application/json' }
  await api('', { method: 'POST', headers, body: JSON.stringify(todo) }).then(show)
})
$('logOut').onclick = () => run(() => client.logOut())
client.onChange(() => run(show))
void run(show)

/** @param {string} id */
function $(id) {
  return /** @type {HTMLElement} */ (document.getElementById(id))
}
