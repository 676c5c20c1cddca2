drop view if exists expired_audit_person;
drop table if exists user_erasure;
