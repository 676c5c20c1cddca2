alter table mail_outbox drop column if exists dispatched_at;
