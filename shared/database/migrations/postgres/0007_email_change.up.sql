-- One row for each change of e-mail that was requested. A row for an address that another user has looks the same; its
-- code was sent nowhere.
create table if not exists email_change (
  id uuid not null,
  userid uuid not null,
  email varchar(120) not null,
  -- HMAC-SHA-256 in hex.
  code_hash char(64) not null,
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  used_at timestamptz,
  constraint pk_email_change primary key (id)
);

create index if not exists ix_email_change_userid on email_change (userid, created_at);
create index if not exists ix_email_change_expires_at on email_change (expires_at);
