-- A row stays until its mail is sent, has expired or failed for good: the queue only carries it, and may lose it.
-- Null while the queue has never had it, else the last moment at which it was known to have it.
-- MySQL commits DDL by itself and has no "add column if not exists", and a killed migration runs again.
set @add_dispatched_at = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'mail_outbox' and column_name = 'dispatched_at'
  ),
  'do 0',
  'alter table mail_outbox add column dispatched_at datetime(3)'
);
prepare add_dispatched_at from @add_dispatched_at;
execute add_dispatched_at;
deallocate prepare add_dispatched_at;
