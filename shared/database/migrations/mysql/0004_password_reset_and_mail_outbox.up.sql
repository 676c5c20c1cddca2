-- One row for each reset that was asked for; userid is null for an unknown e-mail, so that both cases do the same
-- work. No foreign key, for the same reason: its check would cost time only where the user exists. Users are deleted
-- by deleted_at alone, and a row lives a day.
create table if not exists password_reset (
  id binary(16) not null,
  userid binary(16),
  -- Folded: NFC, lower case; so bytes compare as the code does.
  email varchar(120) character set utf8mb4 collate utf8mb4_bin not null,
  -- HMAC-SHA-256 in hex.
  token_hash char(64) character set ascii collate ascii_bin not null,
  code_hash char(64) character set ascii collate ascii_bin not null,
  attempts integer not null default 0,
  created_at datetime(3) not null default current_timestamp(3),
  expires_at datetime(3) not null,
  confirmed_at datetime(3),
  used_at datetime(3),
  primary key (id),
  index ix_password_reset_email (email, created_at),
  index ix_password_reset_userid (userid),
  index ix_password_reset_expires_at (expires_at)
) engine = InnoDB default character set utf8mb4;

-- Mail that was accepted and is not in the queue yet. The id becomes the job's id.
create table if not exists mail_outbox (
  id binary(16) not null,
  -- The job as JSON; its variables are sealed already.
  payload text not null,
  created_at datetime(3) not null default current_timestamp(3),
  expires_at datetime(3) not null,
  primary key (id),
  index ix_mail_outbox_created_at (created_at)
) engine = InnoDB default character set utf8mb4;
