-- All that a lookup of tokens reads of a user, so that it reads this index alone. In a large table the row of each user
-- lies in a page of its own.
create index if not exists ix_users_token_lookup on users (userid) include (role, deleted_at);
