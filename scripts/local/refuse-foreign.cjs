// Loaded before MailDev, which answers every origin and every host name: any page in the browser of a developer could read
// the codes of all accounts. JavaScript, because the Node of MailDev's image may not read TypeScript.
const { Server } = require('node:http')
const { isIP } = require('node:net')

/**
 * True where a page of another origin sends the request, or one whose name its DNS points here (DNS rebinding).
 * @param {import('node:http').IncomingHttpHeaders} headers
 */
function isForeign({ host = '', origin }) {
  const name = host.replace(/:\d+$/, '')
  const isOwn = isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0 || /^([\w-]+\.)*localhost$/i.test(name)
  return !isOwn || (origin !== undefined && origin !== `http://${host}`)
}

const { emit } = Server.prototype
/**
 * @param {string} event
 * @param {any[]} values
 */
Server.prototype.emit = function (event, ...values) {
  const [request, answer] = values
  if (event === 'upgrade' && isForeign(request.headers)) return answer.destroy()
  if (event === 'request' && isForeign(request.headers))
    return answer.writeHead(403).end('Open this page as http://localhost, with its port\n')
  return Reflect.apply(emit, this, [event, ...values])
}

// The inbox of npm start ends with the launcher, however that ends.
process.once('disconnect', () => process.exit())
if (process.connected === false) process.exit()
