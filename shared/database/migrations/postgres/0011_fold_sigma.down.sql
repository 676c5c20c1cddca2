drop index if exists ix_username_sigma;
drop index if exists ix_email_sigma;
