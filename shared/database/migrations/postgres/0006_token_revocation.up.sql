-- Tokens and sessions that end before their time: by a logout, by a refresh, by the second use of a refreshed token. A
-- row is worthless once every token that it can refuse has expired, and is deleted then.
create table if not exists token_revocation (
  -- SHA-256 in hex of the token's `jti` or of the session's `sid`.
  id char(64) not null,
  revoked_from timestamptz not null,
  expires_at timestamptz not null,
  constraint pk_token_revocation primary key (id)
);

create index if not exists ix_token_revocation_expires_at on token_revocation (expires_at);
