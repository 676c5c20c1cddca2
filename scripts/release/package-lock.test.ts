import { expect, it } from 'vitest'
import lock from '../../package-lock.json' with { type: 'json' }

const packages: Record<string, { version?: string; link?: boolean; integrity?: string; resolved?: string }> =
  lock.packages

/** The packages that npm downloads; the others are links to the workspaces. */
const downloaded = Object.entries(packages).filter(
  ([path, { link }]) => path.includes('node_modules/') && !link,
)

it('package-lock.json has the hash of every package that is downloaded, and no address', () => {
  expect(downloaded.length).toBeGreaterThan(100)
  const faulty = downloaded.filter(
    ([, { integrity, resolved }]) => !integrity?.startsWith('sha512-') || resolved !== undefined,
  )
  expect(faulty.map(([path]) => path)).toEqual([])
})
