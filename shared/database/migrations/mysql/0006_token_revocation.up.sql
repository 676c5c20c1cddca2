-- Tokens and sessions that end before their time: by a logout, by a refresh, by the second use of a refreshed token. A
-- row is worthless once every token that it can refuse has expired, and is deleted then.
create table if not exists token_revocation (
  -- SHA-256 in hex of the token's `jti` or of the session's `sid`.
  id char(64) character set ascii collate ascii_bin not null,
  revoked_from datetime(3) not null,
  expires_at datetime(3) not null,
  primary key (id),
  index ix_token_revocation_expires_at (expires_at)
) engine = InnoDB default character set utf8mb4;
