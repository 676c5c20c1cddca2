-- Each transaction that locks a user writes this column. In a cluster a lock holds on one node only, and nodes compare what
-- was written: of two changes of one user on two nodes, the later one is refused and runs again. No `select *` and no insert
-- without names of columns meets it.
-- MySQL commits DDL by itself and has no "add column if not exists", and a killed migration runs again.
set @add_lock_toggle = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'users' and column_name = 'lock_toggle'
  ),
  'do 0',
  'alter table users add column lock_toggle tinyint not null default 0 /*!80023 invisible */ /*M!100303 invisible */'
);
prepare add_lock_toggle from @add_lock_toggle;
execute add_lock_toggle;
deallocate prepare add_lock_toggle;
