-- The sweep looks for mail that the queue never had, oldest first, and for mail that it had long ago. Without this index
-- each of its statements reads all mail that waits.
-- MySQL commits DDL by itself and has no "create index if not exists", and a killed migration runs again.
set @add_ix_mail_outbox_dispatched_at = if(
  exists(
    select 1 from information_schema.statistics
    where table_schema = database() and table_name = 'mail_outbox' and index_name = 'ix_mail_outbox_dispatched_at'
  ),
  'do 0',
  'create index ix_mail_outbox_dispatched_at on mail_outbox (dispatched_at, created_at)'
);
prepare add_ix_mail_outbox_dispatched_at from @add_ix_mail_outbox_dispatched_at;
execute add_ix_mail_outbox_dispatched_at;
deallocate prepare add_ix_mail_outbox_dispatched_at;
