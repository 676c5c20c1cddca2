-- E-mails and usernames are compared as `fold` of shared/users/user.ts does: without regard to case, and the sigma at the
-- end of a word is the one within it, because capitals do not tell the two apart.
-- The earlier indexes are read until the others exist.
create unique index ix_email_new on users (replace(lower(email), 'ς', 'σ'));
create unique index ix_username_new on users (replace(lower(username), 'ς', 'σ'));
drop index if exists ix_email_folded, ix_username_folded;
alter index ix_email_new rename to ix_email_folded;
alter index ix_username_new rename to ix_username_folded;
