set @drop_email_change_begun_under = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'email_change' and column_name = 'begun_under'
  ),
  'alter table email_change drop column begun_under',
  'do 0'
);
prepare drop_email_change_begun_under from @drop_email_change_begun_under;
execute drop_email_change_begun_under;
deallocate prepare drop_email_change_begun_under;

set @drop_user_factor_begun_under = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'user_factor' and column_name = 'begun_under'
  ),
  'alter table user_factor drop column begun_under',
  'do 0'
);
prepare drop_user_factor_begun_under from @drop_user_factor_begun_under;
execute drop_user_factor_begun_under;
deallocate prepare drop_user_factor_begun_under;
