-- One row for each code or token that a mail contains, by its purpose: a login without a password, or an invitation. The row of an
-- unknown e-mail looks like that of a user, and its code was sent nowhere; so there is no foreign key.
create table if not exists mailed_code (
  id uuid not null,
  purpose varchar(20) not null,
  -- Null for an invitation, whose user does not exist yet.
  userid uuid,
  -- Folded: NFC, lower case.
  email varchar(120) not null,
  -- What the purpose needs beside it, as JSON.
  content text,
  -- In hex: HMAC-SHA-256, of an invitation SHA-256.
  token_hash char(64) not null,
  code_hash char(64) not null,
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint pk_mailed_code primary key (id)
);

create index if not exists ix_mailed_code_email on mailed_code (email, created_at);
create index if not exists ix_mailed_code_userid on mailed_code (userid);
create index if not exists ix_mailed_code_expires_at on mailed_code (expires_at);

create or replace view expired_mailed_code with (security_barrier) as
  select id, expires_at as moment from mailed_code where expires_at < now();
