-- MySQL has no "drop index if exists", and a killed migration runs again.
set @drop_ix_mail_outbox_dispatched_at = if(
  exists(
    select 1 from information_schema.statistics
    where table_schema = database() and table_name = 'mail_outbox' and index_name = 'ix_mail_outbox_dispatched_at'
  ),
  'drop index ix_mail_outbox_dispatched_at on mail_outbox',
  'do 0'
);
prepare drop_ix_mail_outbox_dispatched_at from @drop_ix_mail_outbox_dispatched_at;
execute drop_ix_mail_outbox_dispatched_at;
deallocate prepare drop_ix_mail_outbox_dispatched_at;
