import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** A server's address with the right to create databases; the path is a database that is there. */
    adminUrl: string
    /** The address of a mail queue that is there. */
    queueUrl: string
  }
}

export interface StartedEngine {
  adminUrl: string
  queueUrl: string
  stop(): Promise<unknown>
}

/** A Vitest global set-up that starts one server for all test files of a project. */
export const provideEngine =
  (start: () => Promise<StartedEngine>) =>
  async (project: TestProject): Promise<() => Promise<void>> => {
    const engine = await start()
    project.provide('adminUrl', engine.adminUrl)
    project.provide('queueUrl', engine.queueUrl)
    return async () => void (await engine.stop())
  }
