drop view if exists expired_mailed_code;
drop table if exists mailed_code;
