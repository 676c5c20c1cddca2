drop table if exists recovery_code;
drop table if exists user_factor;
-- It says which factors a user has.
delete from users_property where name = 'latchkey.factors';
