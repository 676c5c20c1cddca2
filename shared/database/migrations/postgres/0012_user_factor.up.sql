-- What a user can log in with beside the password: an authenticator app or a passkey.
create table if not exists user_factor (
  id uuid not null,
  userid uuid not null,
  -- totp or passkey.
  kind varchar(20) not null,
  name varchar(50),
  -- The secret of an authenticator app, sealed; what is known of a passkey.
  data text not null,
  created_at timestamptz not null default now(),
  -- Null until the user has shown that it works.
  confirmed_at timestamptz,
  last_used_at timestamptz,
  -- The time step of the last code, or the signature counter: no code counts twice.
  last_counter bigint,
  constraint pk_user_factor primary key (id)
);

create index if not exists ix_user_factor_userid on user_factor (userid);

-- One row for each recovery code that is not used yet.
create table if not exists recovery_code (
  id uuid not null,
  userid uuid not null,
  -- Of the code, sealed like the secrets: who reads this table cannot test guesses.
  hash text not null,
  created_at timestamptz not null default now(),
  constraint pk_recovery_code primary key (id)
);

create index if not exists ix_recovery_code_userid on recovery_code (userid);
