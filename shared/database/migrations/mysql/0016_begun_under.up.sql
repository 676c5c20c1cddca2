-- What guarded the account when an enrolment or a change of e-mail was begun: a keyed hash of the stored password, and the
-- beginnings of the ids of its second factors. It is completed only while nothing stronger guards the account. Null for what
-- an older version has begun, which has to be begun again.
-- MySQL commits DDL by itself and has no "add column if not exists", and a killed migration runs again.
set @add_user_factor_begun_under = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'user_factor' and column_name = 'begun_under'
  ),
  'do 0',
  'alter table user_factor add column begun_under varchar(255) character set ascii collate ascii_bin'
);
prepare add_user_factor_begun_under from @add_user_factor_begun_under;
execute add_user_factor_begun_under;
deallocate prepare add_user_factor_begun_under;

set @add_email_change_begun_under = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'email_change' and column_name = 'begun_under'
  ),
  'do 0',
  'alter table email_change add column begun_under varchar(255) character set ascii collate ascii_bin'
);
prepare add_email_change_begun_under from @add_email_change_begun_under;
execute add_email_change_begun_under;
deallocate prepare add_email_change_begun_under;
