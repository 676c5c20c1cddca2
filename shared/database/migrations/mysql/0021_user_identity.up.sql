-- The accounts of users at identity providers, by which they log in.
create table if not exists user_identity (
  id binary(16) not null,
  userid binary(16) not null,
  -- The name of the provider in OIDC_PROVIDERS, and the id that it gives to the person.
  provider varchar(20) character set ascii collate ascii_bin not null,
  subject varchar(255) character set ascii collate ascii_bin not null,
  -- The address that the provider has said last, for the list of its owner only.
  email varchar(120) character set utf8mb4,
  created_at datetime(3) not null default current_timestamp(3),
  last_used_at datetime(3),
  primary key (id),
  unique index uq_user_identity_subject (provider, subject),
  index ix_user_identity_userid (userid)
) engine = InnoDB default character set utf8mb4;

-- Logins with an identity provider between two requests: a code of sixty seconds that its page exchanges, or what is still
-- missing for an account. A row is deleted by its use.
create table if not exists identity_login (
  id binary(16) not null,
  -- HMAC-SHA-256 in hex.
  token_hash char(64) character set ascii collate ascii_bin not null,
  -- That of the code of a mail, where one was sent.
  code_hash char(64) character set ascii collate ascii_bin not null,
  attempts integer not null default 0,
  -- The person and what the page has to show, sealed.
  content text character set ascii collate ascii_bin not null,
  created_at datetime(3) not null default current_timestamp(3),
  expires_at datetime(3) not null,
  primary key (id),
  index ix_identity_login_expires_at (expires_at)
) engine = InnoDB default character set utf8mb4;

create or replace sql security definer view expired_identity_login as
  select id, expires_at as moment from identity_login
  where expires_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second;
