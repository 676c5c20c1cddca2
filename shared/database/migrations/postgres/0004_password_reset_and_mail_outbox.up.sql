-- One row for each reset that was asked for; userid is null for an unknown e-mail, so that both cases do the same
-- work. No foreign key, for the same reason: its check would cost time only where the user exists. Users are deleted
-- by deleted_at alone, and a row lives a day.
create table if not exists password_reset (
  id uuid not null,
  userid uuid,
  -- Folded: NFC, lower case.
  email varchar(120) not null,
  -- HMAC-SHA-256 in hex.
  token_hash char(64) not null,
  code_hash char(64) not null,
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  confirmed_at timestamptz,
  used_at timestamptz,
  constraint pk_password_reset primary key (id)
);

create index if not exists ix_password_reset_email on password_reset (email, created_at);
create index if not exists ix_password_reset_userid on password_reset (userid);
create index if not exists ix_password_reset_expires_at on password_reset (expires_at);

-- Mail that was accepted and is not in the queue yet. The id becomes the job's id.
create table if not exists mail_outbox (
  id uuid not null,
  -- The job as JSON; its variables are sealed already.
  payload text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint pk_mail_outbox primary key (id)
);

create index if not exists ix_mail_outbox_created_at on mail_outbox (created_at);
