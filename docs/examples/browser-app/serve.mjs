// Serves the three files of this folder: node docs/examples/browser-app/serve.mjs [port]
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const FILES = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript'],
  '/session.js': ['session.js', 'text/javascript'],
}
const port = Number(process.argv[2] ?? 5173)

createServer(async ({ url }, response) => {
  const [file, type] = FILES[url] ?? []
  if (!file) return response.writeHead(404).end()
  response.writeHead(200, { 'content-type': type }).end(await readFile(new URL(file, import.meta.url)))
}).listen(port, '127.0.0.1', () => console.log(`http://localhost:${port}`))
