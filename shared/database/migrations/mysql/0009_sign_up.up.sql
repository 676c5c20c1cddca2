-- One row for each sign-up that was requested; it becomes a row of users once the code of its mail is confirmed. A row
-- for an address that a user has looks the same; its code was sent nowhere.
create table if not exists sign_up (
  id binary(16) not null,
  -- Folded: NFC, lower case; so bytes compare as the code does.
  email_key varchar(120) character set utf8mb4 collate utf8mb4_bin not null,
  email varchar(120) character set utf8mb4 not null,
  username varchar(20) character set utf8mb4 not null,
  name varchar(50) character set utf8mb4,
  language char(2) character set ascii collate ascii_bin not null,
  password_hash varchar(255) character set ascii collate ascii_bin not null,
  -- HMAC-SHA-256 in hex.
  token_hash char(64) character set ascii collate ascii_bin not null,
  code_hash char(64) character set ascii collate ascii_bin not null,
  attempts integer not null default 0,
  created_at datetime(3) not null default current_timestamp(3),
  expires_at datetime(3) not null,
  primary key (id),
  index ix_sign_up_email_key (email_key, created_at),
  index ix_sign_up_expires_at (expires_at)
) engine = InnoDB default character set utf8mb4;
