drop table if exists users_property;
drop table if exists users;
drop table if exists latchkey_session;
