-- The sessions that users can see, where SESSIONS is `on`: one row for each login, which its refreshes update. Whether a
-- session was ended before its time, token_revocation and the valid-from time of its user say. A row is worthless once
-- the last token of its session has expired, and is deleted then.
create table if not exists user_session (
  -- SHA-256 in hex of the session's `sid`: the id that token_revocation has for it.
  id char(64) character set ascii collate ascii_bin not null,
  userid binary(16) not null,
  -- `jti` and `valid_from` of the newest token.
  jti varchar(36) character set ascii collate ascii_bin not null,
  valid_from bigint not null,
  created_at datetime(3) not null,
  refreshed_at datetime(3) not null,
  expires_at datetime(3) not null,
  -- Where the newest token was requested: an IPv4 address or an IPv6 network, and what the client calls itself.
  address varchar(64) character set ascii collate ascii_bin not null,
  agent varchar(200) character set ascii collate ascii_bin not null,
  primary key (id),
  index ix_user_session_userid (userid, refreshed_at),
  index ix_user_session_expires_at (expires_at)
) engine = InnoDB default character set utf8mb4;
