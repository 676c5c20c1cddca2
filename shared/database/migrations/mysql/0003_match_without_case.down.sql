alter table users
  modify email varchar(120) character set utf8mb4,
  modify username varchar(20) character set utf8mb4 not null;
