drop table if exists token_revocation;
