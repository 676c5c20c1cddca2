drop view if exists expired_identity_login;
drop table if exists identity_login;
drop table if exists user_identity;
