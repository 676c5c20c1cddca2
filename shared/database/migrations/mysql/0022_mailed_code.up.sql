-- One row for each code or token that a mail contains, by its purpose: a login without a password, or an invitation. The row of an
-- unknown e-mail looks like that of a user, and its code was sent nowhere; so there is no foreign key.
create table if not exists mailed_code (
  id binary(16) not null,
  purpose varchar(20) character set ascii collate ascii_bin not null,
  -- Null for an invitation, whose user does not exist yet.
  userid binary(16),
  -- Folded: NFC, lower case; so bytes compare as the code does.
  email varchar(120) character set utf8mb4 collate utf8mb4_bin not null,
  -- What the purpose needs beside it, as JSON.
  content text character set utf8mb4,
  -- In hex: HMAC-SHA-256, of an invitation SHA-256.
  token_hash char(64) character set ascii collate ascii_bin not null,
  code_hash char(64) character set ascii collate ascii_bin not null,
  attempts integer not null default 0,
  created_at datetime(3) not null default current_timestamp(3),
  expires_at datetime(3) not null,
  used_at datetime(3),
  primary key (id),
  index ix_mailed_code_email (email, created_at),
  index ix_mailed_code_userid (userid),
  index ix_mailed_code_expires_at (expires_at)
) engine = InnoDB default character set utf8mb4;

create or replace sql security definer view expired_mailed_code as
  select id, expires_at as moment from mailed_code
  where expires_at < timestamp '1970-01-01 00:00:00' + interval unix_timestamp(sysdate()) second;
