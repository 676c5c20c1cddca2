import { createRepeatedTask, type RepeatedTaskOptions } from '@latchkey/shared/lifecycle/repeated-task.ts'
import { createErasureRepository, eraseUser } from '@latchkey/shared/users/erasure.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Core } from '../../core.ts'

type EraseAccountsCore = Pick<Core, 'db' | 'localNow'>

/** Erases the accounts whose time has come, each in a transaction of its own. Replicas may do it at the same time. */
export async function eraseDueAccounts({ db, localNow }: EraseAccountsCore): Promise<void> {
  const now = new Date(localNow())
  for (const userid of await createErasureRepository(db).findDue(now))
    await db.transaction(async (transaction) => {
      const user = await createUserRepository(transaction).lockAndFind(userid)
      if (user?.deletedAt) await eraseUser(transaction, user, now)
      // Another program has restored it: `Users::restore` deletes the row itself.
      else await createErasureRepository(transaction).cancel(userid)
    })
}

const PAUSE_MS = 600_000

/** Creates the task that does so every ten minutes. */
export const createErasureTask = (core: EraseAccountsCore, { logger }: Pick<RepeatedTaskOptions, 'logger'>) =>
  createRepeatedTask({
    name: 'erasing deleted accounts',
    pauseMs: PAUSE_MS,
    work: () => eraseDueAccounts(core),
    logger,
  })
