drop index if exists ix_mail_outbox_dispatched_at;
