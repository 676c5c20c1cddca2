-- A row stays until its mail is sent, has expired or failed for good: the queue only carries it, and may lose it.
-- Null while the queue has never had it, else the last moment at which it was known to have it.
alter table mail_outbox add column if not exists dispatched_at timestamptz;
