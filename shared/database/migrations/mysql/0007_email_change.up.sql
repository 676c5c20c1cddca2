-- One row for each change of e-mail that was requested. A row for an address that another user has looks the same; its
-- code was sent nowhere.
create table if not exists email_change (
  id binary(16) not null,
  userid binary(16) not null,
  email varchar(120) character set utf8mb4 not null,
  -- HMAC-SHA-256 in hex.
  code_hash char(64) character set ascii collate ascii_bin not null,
  attempts integer not null default 0,
  created_at datetime(3) not null default current_timestamp(3),
  expires_at datetime(3) not null,
  used_at datetime(3),
  primary key (id),
  index ix_email_change_userid (userid, created_at),
  index ix_email_change_expires_at (expires_at)
) engine = InnoDB default character set utf8mb4;
