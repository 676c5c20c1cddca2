create table if not exists users (
  userid text not null primary key,
  name varchar(50),
  email varchar(120),
  username varchar(20) not null,
  password varchar(255) not null,
  role varchar(50),
  created_at timestamp default current_timestamp,
  updated_at timestamp,
  deleted_at timestamp
);
create unique index if not exists ix_email on users (lower(email));
create unique index if not exists ix_username on users (lower(username));

create table if not exists users_property (
  id integer primary key autoincrement,
  name varchar(50),
  value varchar(250),
  userid text not null references users (userid)
);

-- Set for one update that keeps updated_at.
create table if not exists latchkey_session (keep_updated_at integer not null);
insert into latchkey_session values (0);
create trigger if not exists users_updated_at after update on users when new.updated_at is old.updated_at
begin
  update users set updated_at = current_timestamp
    where userid = new.userid and not (select keep_updated_at from latchkey_session);
  update latchkey_session set keep_updated_at = 0;
end;
