drop table if exists users_property;
drop table if exists users;
drop function if exists latchkey_set_updated_at();
