drop index if exists ix_username_folded;
drop index if exists ix_email_folded;
