drop table if exists users_property;
drop table if exists users;
