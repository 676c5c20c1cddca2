-- The rows whose time is over: all that mailer-worker may delete. It uses the rights of the owner of these views and the clock
-- of the database, so a worker that has been taken over can delete no other row. What Latchkey keeps longer, it does not ask
-- for. The barrier shows no other row to a function of the client.
create or replace view expired_password_reset with (security_barrier) as
  select id, expires_at as moment from password_reset where expires_at < now();

create or replace view expired_email_change with (security_barrier) as
  select id, expires_at as moment from email_change where expires_at < now();

create or replace view expired_sign_up with (security_barrier) as
  select id, expires_at as moment from sign_up where expires_at < now();

create or replace view expired_user_session with (security_barrier) as
  select id, expires_at as moment from user_session where expires_at < now();

-- A replica whose clock is an hour behind still accepts the token.
create or replace view expired_token_revocation with (security_barrier) as
  select id, expires_at as moment from token_revocation where expires_at < now() - interval '1 hour';

-- A day is the least that AUDIT_DAYS can be.
create or replace view expired_audit_event with (security_barrier) as
  select id, created_at as moment from audit_event where created_at < now() - interval '1 day';
