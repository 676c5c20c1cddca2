drop table if exists email_change;
