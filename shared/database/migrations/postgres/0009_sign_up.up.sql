-- One row for each sign-up that was requested; it becomes a row of users once the code of its mail is confirmed. A row
-- for an address that a user has looks the same; its code was sent nowhere.
create table if not exists sign_up (
  id uuid not null,
  -- Folded: NFC, lower case.
  email_key varchar(120) not null,
  email varchar(120) not null,
  username varchar(20) not null,
  name varchar(50),
  language varchar(2) not null,
  password_hash varchar(255) not null,
  -- HMAC-SHA-256 in hex.
  token_hash char(64) not null,
  code_hash char(64) not null,
  attempts integer not null default 0,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint pk_sign_up primary key (id)
);

create index if not exists ix_sign_up_email_key on sign_up (email_key, created_at);
create index if not exists ix_sign_up_expires_at on sign_up (expires_at);
