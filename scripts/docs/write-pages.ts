import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './checkout.ts'
import { generatePages } from './generated-pages.ts'

// Rewrites the generated sections of docs/ and the Prometheus rule of deploy/k8s/ from the code.
for (const { path, current, expected } of await generatePages()) {
  if (current === expected) continue
  writeFileSync(join(ROOT, path), expected)
  console.log(`wrote ${path}`)
}
