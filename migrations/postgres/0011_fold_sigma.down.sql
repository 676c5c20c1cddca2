create unique index ix_email_new on users (lower(email));
create unique index ix_username_new on users (lower(username));
drop index if exists ix_email_folded, ix_username_folded;
alter index ix_email_new rename to ix_email_folded;
alter index ix_username_new rename to ix_username_folded;
