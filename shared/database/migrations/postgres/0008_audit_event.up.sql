-- What happened to accounts: no secret, no name, no e-mail. No foreign key: a refused login has no user, and a row
-- outlives its user.
create table if not exists audit_event (
  id bigint generated always as identity,
  name varchar(50) not null,
  userid uuid,
  -- An IPv4 address or an IPv6 network; null for what an admin does.
  address varchar(64),
  request_id varchar(64),
  reason varchar(100),
  -- How many equal events the row stands for.
  event_count integer not null default 1,
  created_at timestamptz not null default now(),
  constraint pk_audit_event primary key (id)
);

create index if not exists ix_audit_event_userid on audit_event (userid, created_at);
create index if not exists ix_audit_event_created_at on audit_event (created_at);
