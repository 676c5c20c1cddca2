set @drop_lock_toggle = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'users' and column_name = 'lock_toggle'
  ),
  'alter table users drop column lock_toggle',
  'do 0'
);
prepare drop_lock_toggle from @drop_lock_toggle;
execute drop_lock_toggle;
deallocate prepare drop_lock_toggle;
