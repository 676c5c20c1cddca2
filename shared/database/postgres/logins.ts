import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import type { LoginSql } from '../database.ts'
import { grantStatements, revokeStatements } from '../rights-sql.ts'

export const postgresLogins: LoginSql = {
  create: ({ user, password }) => `do $$
    begin
      if not exists (select from pg_roles where rolname = '${user}') then
        create role ${user} login password '${scramVerifier(password)}';
      end if;
    end
  $$`,
  // One transaction. Where PostgreSQL has the queue, both services use all tables of BullMQ.
  grant: ({ user }, grants) => `do $$
    begin
      execute format('grant connect on database %I to ${user}', current_database());
      execute format('grant usage on schema %I to ${user}', current_schema());
      execute format('grant usage on all sequences in schema %I to ${user}', current_schema());
      if exists (select from pg_namespace where nspname = 'bullmq') then
        grant usage on schema bullmq to ${user};
        grant select, insert, update, delete on all tables in schema bullmq to ${user};
        grant usage on all sequences in schema bullmq to ${user};
      end if;
    end
  $$;
  ${revokeStatements(user, grants)}
  ${grantStatements(user, grants)}`,
}

const ITERATIONS = 4_096

/** The form in which PostgreSQL stores passwords (RFC 5803). A server logs the text of a failed statement, so none contains the password. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, ITERATIONS, 32, 'sha256')
  const sign = (text: string) => createHmac('sha256', salted).update(text).digest()
  const storedKey = createHash('sha256').update(sign('Client Key')).digest('base64')
  const serverKey = sign('Server Key').toString('base64')
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
