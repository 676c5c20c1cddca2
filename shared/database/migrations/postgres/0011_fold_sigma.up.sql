-- E-mails and usernames are compared as `fold` of shared/users/user.ts does: without regard to case, and the sigma at the
-- end of a word is the one within it, because capitals do not tell the two apart.
-- Replicas of the version before still read ix_email_folded and ix_username_folded: a later version drops these.
create unique index if not exists ix_email_sigma on users (replace(lower(email), 'ς', 'σ'));
create unique index if not exists ix_username_sigma on users (replace(lower(username), 'ς', 'σ'));
