import { errorMessage } from '@latchkey/shared/error-message.ts'
import { getContainerRuntimeClient } from 'testcontainers'

/** Whether container suites run: without an engine they say why and are skipped, or fail under REQUIRE_DOCKER=1. */
export async function hasDocker(): Promise<boolean> {
  try {
    await getContainerRuntimeClient()
    return true
  } catch (error) {
    const reason = errorMessage(error)
    if (process.env.REQUIRE_DOCKER === '1')
      throw new Error(`REQUIRE_DOCKER=1, but no Docker engine answers: ${reason}`)
    process.stderr.write(
      `The mailer's container suites are skipped, since no Docker engine answers: ${reason}\n`,
    )
    return false
  }
}
