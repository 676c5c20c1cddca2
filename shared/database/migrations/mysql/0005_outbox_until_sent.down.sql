set @drop_dispatched_at = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'mail_outbox' and column_name = 'dispatched_at'
  ),
  'alter table mail_outbox drop column dispatched_at',
  'do 0'
);
prepare drop_dispatched_at from @drop_dispatched_at;
execute drop_dispatched_at;
deallocate prepare drop_dispatched_at;
