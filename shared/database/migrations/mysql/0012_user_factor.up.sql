-- What a user can log in with beside the password: an authenticator app or a passkey.
create table if not exists user_factor (
  id binary(16) not null,
  userid binary(16) not null,
  -- totp or passkey.
  kind varchar(20) character set ascii collate ascii_bin not null,
  name varchar(50) character set utf8mb4,
  -- The secret of an authenticator app, sealed; what is known of a passkey.
  data text character set utf8mb4 not null,
  created_at datetime(3) not null default current_timestamp(3),
  -- Null until the user has shown that it works.
  confirmed_at datetime(3),
  last_used_at datetime(3),
  -- The time step of the last code, or the signature counter: no code counts twice.
  last_counter bigint,
  primary key (id),
  index ix_user_factor_userid (userid)
) engine = InnoDB default character set utf8mb4;

-- One row for each recovery code that is not used yet.
create table if not exists recovery_code (
  id binary(16) not null,
  userid binary(16) not null,
  -- Of the code, sealed like the secrets: who reads this table cannot test guesses.
  hash text character set ascii collate ascii_bin not null,
  created_at datetime(3) not null default current_timestamp(3),
  primary key (id),
  index ix_recovery_code_userid (userid)
) engine = InnoDB default character set utf8mb4;
