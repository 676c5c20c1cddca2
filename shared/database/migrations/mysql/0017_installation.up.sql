-- One row: a random name of this installation, by which its queue and its limits are told apart from those of other
-- installations on the same server.
create table if not exists latchkey_installation (
  id varchar(32) character set ascii collate ascii_bin not null,
  created_at datetime(3) not null default current_timestamp(3),
  primary key (id)
) engine = InnoDB default character set utf8mb4;

-- A binary log of statements has the value of the variable, and each replica would have a UUID of its own.
set @installation = left(sha2(uuid(), 256), 12);
insert into latchkey_installation (id)
  select @installation from (select count(*) as found from latchkey_installation) existing where found = 0;
