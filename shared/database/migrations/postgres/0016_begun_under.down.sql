alter table email_change drop column if exists begun_under;
alter table user_factor drop column if exists begun_under;
