import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Panel, ROWS } from '../monitoring/dashboard.ts'
import { hasBrowser, openBrowser } from '../services/test/browser.ts'
import { ROOT } from './docs/generated-pages.ts'

// Draws what the dashboard shows of a running Prometheus, for docs/how-to/monitor.md: its panels and queries, without Grafana.
const PICTURE = join(ROOT, 'docs/images/dashboard.png')
const MINUTES = 10
const STEP_SECONDS = 10
/** Of a curve, in pixels. */
const [WIDTH, HEIGHT] = [310, 100]
const MOST_SERIES = 6
const COLOURS = ['#73bf69', '#f2cc0c', '#5794f2', '#ff780a', '#f2495c', '#b877d9', '#8ab8ff', '#96d98d']

interface Series {
  name: string
  values: [time: number, value: number][]
}

const Answer = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
})

const prometheus = process.argv[2]
if (prometheus === undefined || process.argv.length > 3) {
  console.error('Usage: npm run docs:dashboard -- http://127.0.0.1:9090')
  process.exit(2)
}
if (!hasBrowser) {
  console.error('There is no Chromium; install it, or name it in CHROMIUM')
  process.exit(1)
}
const end = Math.floor(Date.now() / 1000)
const start = end - MINUTES * 60
await using browser = await openBrowser()
const page = await browser.newPage({ viewport: { width: 3 * (WIDTH + 40) + 20, height: 800 } })
await page.setContent(await composePage(prometheus))
await writeFile(PICTURE, await page.screenshot({ fullPage: true }))
console.log(`wrote ${PICTURE}`)

async function composePage(url: string): Promise<string> {
  const rows = ROWS.map(async ({ title, panels }) => {
    const drawn = panels.map(async (panel) => drawPanel(panel, await readPanel(url, panel)))
    return `<h2>${title}</h2><main>${(await Promise.all(drawn)).join('')}</main>`
  })
  return `<!doctype html><meta charset="utf-8"><style>
    body { margin: 0; padding: 4px 16px 16px; background: #111217; color: #ccccdc; font: 12px system-ui, sans-serif }
    h2 { font-size: 15px; margin: 12px 0 6px } h3 { font-size: 12px; margin: 0 0 6px } p { margin: 4px 0 0 }
    main { display: flex; flex-wrap: wrap; gap: 8px }
    section { background: #181b1f; border: 1px solid #2c3235; padding: 8px; width: ${WIDTH + 8}px }
    section.stat { width: ${(WIDTH * 3) / 4 - 16}px } b { font-size: 24px; margin-right: 16px } text { fill: #8e8e9a; font-size: 10px }
  </style>${(await Promise.all(rows)).join('')}`
}

async function readPanel(url: string, { lines }: Panel): Promise<Series[]> {
  const answers = lines.map(async ({ expr, legend }) => {
    const query = expr.replaceAll('$__rate_interval', '1m')
    const range = { query, start: String(start), end: String(end), step: String(STEP_SECONDS) }
    const response = await fetch(`${url}/api/v1/query_range?${new URLSearchParams(range)}`)
    return Answer.parse(await response.json()).data.result.map(({ metric, values }) => ({
      name: legend.replaceAll(/{{(\w+)}}/g, (_, label) => metric[label] ?? ''),
      values: values.map(([time, value]): [number, number] => [time, Number(value)]),
    }))
  })
  const series = (await Promise.all(answers)).flat()
  // A legend of many outcomes that did not occur hides those that did.
  return series.length > MOST_SERIES
    ? series.filter(({ values }) => values.some(([, value]) => value > 0))
    : series
}

function drawPanel(panel: Panel, series: readonly Series[]): string {
  const body = panel.isStat ? drawNumbers(panel, series) : drawCurves(panel, series)
  return `<section class="${panel.isStat ? 'stat' : ''}"><h3>${panel.title}</h3>${body}</section>`
}

function drawNumbers({ unit }: Panel, series: readonly Series[]): string {
  const colour = COLOURS[0]
  return series
    .map(
      ({ name, values }) =>
        `<b style="color: ${colour}">${format(values.at(-1)?.[1] ?? 0, unit)}</b>${name} `,
    )
    .join('')
}

function drawCurves({ unit }: Panel, series: readonly Series[]): string {
  const finite = series.flatMap(({ values }) => values.map(([, value]) => value).filter(Number.isFinite))
  const top = Math.max(...finite, 0) * 1.1 || 1
  const x = (time: number) => 50 + ((time - start) / (end - start)) * (WIDTH - 50)
  const y = (value: number) => HEIGHT - 16 - (value / top) * (HEIGHT - 24)
  const grid = [0, top / 2, top / 1.1].map(
    (value) =>
      `<path d="M50 ${y(value)}H${WIDTH}" stroke="#2c3235"/><text x="0" y="${y(value) + 3}">${format(value, unit)}</text>`,
  )
  const times = [start, (start + end) / 2, end - 60].map(
    (time) =>
      `<text x="${x(time) - 14}" y="${HEIGHT - 2}">${new Date(time * 1000).toISOString().slice(11, 16)}</text>`,
  )
  const curves = series.map(({ values }, index) => {
    const points = values.filter(([, value]) => Number.isFinite(value))
    const path = points.map(([time, value]) => `${x(time).toFixed(1)} ${y(value).toFixed(1)}`).join('L')
    return path && `<path d="M${path}" fill="none" stroke="${colourOf(index)}" stroke-width="1.5"/>`
  })
  const legend = series.map(({ name }, index) => `<span style="color: ${colourOf(index)}">▬</span> ${name}`)
  return `<svg width="${WIDTH}" height="${HEIGHT}">${grid.join('')}${times.join('')}${curves.join('')}</svg><p>${legend.join(' ')}</p>`
}

function colourOf(index: number): string {
  return COLOURS[index % COLOURS.length] ?? ''
}

function format(value: number, unit: Panel['unit']): string {
  if (unit === 'bytes') return `${Math.round(value / 2 ** 20)} MiB`
  if (unit === 'percentunit') return `${(value * 100).toFixed(1)} %`
  if (unit === 's') return value < 1 ? `${Math.round(value * 1000)} ms` : `${value.toFixed(1)} s`
  const number = Number.isInteger(value) ? String(value) : value.toFixed(2)
  return unit === 'ops' ? `${number}/s` : number
}
