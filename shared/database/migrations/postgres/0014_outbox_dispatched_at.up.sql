-- The sweep looks for mail that the queue never had, oldest first, and for mail that it had long ago. Without this index
-- each of its statements reads all mail that waits.
create index if not exists ix_mail_outbox_dispatched_at on mail_outbox (dispatched_at, created_at);
