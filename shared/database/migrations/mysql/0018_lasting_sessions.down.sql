set @drop_lasting_sessions = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'user_session' and column_name = 'refresh_hash'
  ),
  'alter table user_session
    drop column authenticated_at,
    drop column amr,
    drop column previous_used_at,
    drop column used_at,
    drop column refresh_form,
    drop column refresh_salt,
    drop column refresh_hash',
  'do 0'
);
prepare drop_lasting_sessions from @drop_lasting_sessions;
execute drop_lasting_sessions;
deallocate prepare drop_lasting_sessions;
