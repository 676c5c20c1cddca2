-- The rows whose time is over: all that mailer-worker may delete. It uses the rights of the owner of these views and the clock
-- of the server, so a worker that has been taken over can delete no other row. What Latchkey keeps longer, it does not ask
-- for. `sysdate` cannot be set by a client as `now` can, and as seconds since 1970 it has no time zone.
create or replace sql security definer view expired_password_reset as
  select id, expires_at as moment from password_reset
  where expires_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second;

create or replace sql security definer view expired_email_change as
  select id, expires_at as moment from email_change
  where expires_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second;

create or replace sql security definer view expired_sign_up as
  select id, expires_at as moment from sign_up
  where expires_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second;

create or replace sql security definer view expired_user_session as
  select id, expires_at as moment from user_session
  where expires_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second;

-- A replica whose clock is an hour behind still accepts the token.
create or replace sql security definer view expired_token_revocation as
  select id, expires_at as moment from token_revocation
  where expires_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second - interval 1 hour;

-- A day is the least that AUDIT_DAYS can be.
create or replace sql security definer view expired_audit_event as
  select id, created_at as moment from audit_event
  where created_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second - interval 1 day;
