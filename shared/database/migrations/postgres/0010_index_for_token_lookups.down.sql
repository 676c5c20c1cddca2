drop index if exists ix_users_token_lookup;
