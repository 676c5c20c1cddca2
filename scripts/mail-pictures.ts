import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import { hasBrowser, openBrowser } from '../services/test/browser.ts'
import { ROOT } from './docs/generated-pages.ts'
import { fingerprintMails, renderSamples, type SampleMail } from './docs/mail-samples.ts'

// Takes the pictures of docs/reference/mails.md, with Chromium: each mail in a wide window and on a telephone.
const FOLDER = join(ROOT, 'docs/images/mails')
const WIDTHS = [560, 360]
const GAP = 16
/** Runs on the page: a frame does not grow with what it shows. */
const FIT_FRAMES =
  "for (const frame of document.querySelectorAll('iframe')) frame.height = frame.contentDocument.documentElement.scrollHeight"
/** Runs on the page: as WebP, a quarter of what Chromium's PNG is. */
const ENCODE = `async (png) => {
  const image = await createImageBitmap(await (await fetch(png)).blob())
  const canvas = document.createElement('canvas')
  Object.assign(canvas, { width: image.width, height: image.height })
  canvas.getContext('2d').drawImage(image, 0, 0)
  return canvas.toDataURL('image/webp', 0.6)
}`

if (!hasBrowser) {
  console.error('There is no Chromium; install it, or name it in CHROMIUM')
  process.exit(1)
}
await using browser = await openBrowser()
await mkdir(FOLDER, { recursive: true })
for (const language of LANGUAGES) {
  const sheet = composeSheet(await renderSamples(language))
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await browser.newPage({ colorScheme, viewport: { width: sheetWidth(), height: 800 } })
    await page.setContent(sheet)
    await page.evaluate(FIT_FRAMES)
    const png = `data:image/png;base64,${(await page.screenshot({ fullPage: true })).toString('base64')}`
    const webp = String(await page.evaluate(`(${ENCODE})("${png}")`))
    const path = join(FOLDER, `${language}-${colorScheme}.webp`)
    await writeFile(path, Buffer.from(webp.slice(webp.indexOf(',') + 1), 'base64'))
    await page.close()
    console.log(`wrote ${path}`)
  }
}
await writeFile(join(FOLDER, 'fingerprint.txt'), `${await fingerprintMails()}\n`)

function sheetWidth(): number {
  return WIDTHS.reduce((sum, width) => sum + width + GAP, GAP)
}

/** A row for each mail: its template, its subject, and the mail at each width, in a frame of its own. */
function composeSheet(mails: readonly SampleMail[]): string {
  const rows = mails.map(({ template, subject, html }) => {
    const frames = WIDTHS.map((width) => `<iframe width="${width}" srcdoc="${escapeHtml(html)}"></iframe>`)
    return `<h2>${escapeHtml(subject)} <code>${template}</code></h2><div>${frames.join('')}</div>`
  })
  return `<!doctype html><meta charset="utf-8"><style>
    :root { color-scheme: light dark }
    body { margin: 0; padding: 0 ${GAP}px ${GAP}px; font: 16px system-ui, sans-serif }
    h2 { font-size: 17px; margin: 20px 0 8px } code { font-size: 13px; font-weight: normal; opacity: .7 }
    div { display: flex; align-items: start; gap: ${GAP}px } iframe { border: 0 }
  </style>${rows.join('')}`
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')
}
