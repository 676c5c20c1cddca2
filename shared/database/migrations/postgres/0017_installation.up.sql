-- One row: a random name of this installation, by which its queue and its limits are told apart from those of other
-- installations on the same server.
create table if not exists latchkey_installation (
  id varchar(32) not null,
  created_at timestamptz not null default now(),
  constraint pk_latchkey_installation primary key (id)
);

insert into latchkey_installation (id)
  select left(replace(gen_random_uuid()::text, '-', ''), 12) where not exists (select from latchkey_installation);
