drop table if exists mail_outbox;
drop table if exists password_reset;
