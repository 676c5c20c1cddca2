import type { Lifecycle } from '@latchkey/shared/lifecycle/run-service.ts'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import { vi } from 'vitest'
import { writeCredentials } from '../release/credentials-file.ts'
import { launch } from './launch.ts'
import { loadLaunchEnvironment } from './launch-settings.ts'

/** `launch` as `npm start` calls it, in the process of a test; everything stops when the result is disposed. */
export function launchHere(
  settings: Record<string, string>,
  { beforeOpen = (_count: number): unknown => undefined } = {},
) {
  const written = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation(() => true),
  )
  const opened = new AsyncDisposableStack()
  let count = 0
  const lifecycle: Lifecycle = {
    async open(openPart, close) {
      await beforeOpen(++count)
      const part = await openPart()
      opened.defer(async () => void (await close(part)))
      return part
    },
    configureStop: () => undefined,
    fail: (error) => void process.stderr.write(error.message),
  }
  return {
    launched: open(),
    output: () => written.flatMap(({ mock }) => mock.calls.map(([text]) => String(text))).join(''),
    exitCode: () => process.exitCode,
    /** Returns the number of parts that were opened. */
    openedCount: () => count,
    async [Symbol.asyncDispose]() {
      await opened.disposeAsync()
      for (const spy of written) spy.mockRestore()
      process.exitCode = undefined
    },
  }

  async function open(): Promise<void> {
    await writeCredentials(CONFIG_DIR, settings.APP_ENV ?? 'dev')
    await launch(lifecycle, await loadLaunchEnvironment(settings), [])
  }
}
