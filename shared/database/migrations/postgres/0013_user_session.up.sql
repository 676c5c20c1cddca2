-- The sessions that users can see, where SESSIONS is `on`: one row for each login, which its refreshes update. Whether a
-- session was ended before its time, token_revocation and the valid-from time of its user say. A row is worthless once
-- the last token of its session has expired, and is deleted then.
create table if not exists user_session (
  -- SHA-256 in hex of the session's `sid`: the id that token_revocation has for it.
  id char(64) not null,
  userid uuid not null,
  -- `jti` and `valid_from` of the newest token.
  jti varchar(36) not null,
  valid_from bigint not null,
  created_at timestamptz not null,
  refreshed_at timestamptz not null,
  expires_at timestamptz not null,
  -- Where the newest token was requested: an IPv4 address or an IPv6 network, and what the client calls itself.
  address varchar(64) not null,
  agent varchar(200) not null,
  constraint pk_user_session primary key (id)
);

create index if not exists ix_user_session_userid on user_session (userid, refreshed_at);
create index if not exists ix_user_session_expires_at on user_session (expires_at);
