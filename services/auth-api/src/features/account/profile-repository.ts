import type { Queryable, Statement } from '@latchkey/shared/database/database.ts'
import { selectPendingEmail } from '@latchkey/shared/users/email-change-repository.ts'
import { type Metadata, parseMetadata, selectMetadata } from '@latchkey/shared/users/metadata.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { toUsers, USER_COLUMNS, USER_TABLES, type UserRow } from '@latchkey/shared/users/user-repository.ts'

/** A user with its metadata and a pending change of their e-mail. */
export interface ProfileRecord {
  user: User
  metadata: Metadata
  /** The address that is not confirmed yet. */
  pendingEmail?: string | undefined
}

interface ProfileRow extends UserRow {
  pending_email: string | null
  metadata: string | null
}

const FIND: Statement = {
  name: 'profile-by-id',
  text: `select ${USER_COLUMNS},
    ${selectPendingEmail({ userid: 'u.userid', now: '$2', attempts: '$3' })} as pending_email,
    ${selectMetadata('u.userid')} as metadata
    from ${USER_TABLES} where u.userid = $1 order by p.id`,
}

/**
 * Creates the repository of profiles. Given a transaction, it works inside that transaction. A change of e-mail at whose code
 * `attempts` were made is over.
 */
export function createProfileRepository(db: Queryable, attempts: number) {
  return {
    /** Reads a user, the metadata and the pending change of e-mail, by one statement. */
    async find(userid: string, now: Date): Promise<ProfileRecord | undefined> {
      const rows = await db.query<ProfileRow>(FIND, [db.toUuidValue(userid), now, attempts])
      const [user] = toUsers(db, rows)
      if (!user) return undefined
      const [row] = rows
      return { user, metadata: parseMetadata(row?.metadata), pendingEmail: row?.pending_email ?? undefined }
    },
  }
}
