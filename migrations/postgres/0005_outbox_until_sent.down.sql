alter table mail_outbox drop column dispatched_at;
