-- What happened to accounts: no secret, no name, no e-mail. No foreign key: a refused login has no user, and a row
-- outlives its user.
create table if not exists audit_event (
  id bigint not null auto_increment,
  name varchar(50) character set ascii collate ascii_bin not null,
  userid binary(16),
  -- An IPv4 address or an IPv6 network; null for what an admin does.
  address varchar(64) character set utf8mb4,
  request_id varchar(64) character set ascii collate ascii_bin,
  reason varchar(100) character set utf8mb4,
  -- How many equal events the row stands for.
  event_count integer not null default 1,
  created_at datetime(3) not null default current_timestamp(3),
  primary key (id),
  index ix_audit_event_userid (userid, created_at),
  index ix_audit_event_created_at (created_at)
) engine = InnoDB default character set utf8mb4;
