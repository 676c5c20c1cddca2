create table if not exists users (
  -- (uuid_to_bin(uuid())) in MySQL; these words give the same bytes, and MariaDB knows them too.
  userid binary(16) not null default (unhex(replace(uuid(), '-', ''))),
  name varchar(50),
  email varchar(120),
  username varchar(20) not null,
  password char(40) not null,
  role varchar(50),
  created_at datetime default current_timestamp,
  updated_at datetime default null on update current_timestamp,
  deleted_at datetime default null,
  primary key (userid),
  unique index ix_email (email),
  unique index ix_username (username)
) engine = InnoDB default character set utf8mb4;

create table if not exists users_property (
  id integer not null auto_increment,
  name varchar(50),
  value varchar(250),
  userid binary(16) not null,
  primary key (id),
  constraint fk_user_property foreign key (userid) references users (userid)
) engine = InnoDB default character set utf8mb4;
