-- A session that was asked to last has a refresh token beside its access tokens; in the row of every other one these columns
-- are null. The end of a session clears the hash: nothing can be refreshed without it.
-- SHA-256 in hex of the newest refresh token, and random text from which, with a token, the one after it is derived.
alter table user_session add column if not exists refresh_hash varchar(64);
alter table user_session add column if not exists refresh_salt varchar(64);
-- Where the client keeps it: body or cookie.
alter table user_session add column if not exists refresh_form varchar(8);
-- The first uses of what the newest refresh brought, and of what the one before it brought, by the clock of the database.
alter table user_session add column if not exists used_at timestamptz;
alter table user_session add column if not exists previous_used_at timestamptz;
-- How and when the user has logged in, or confirmed the login: `amr`, separated by spaces, and `auth_time`.
alter table user_session add column if not exists amr varchar(200);
alter table user_session add column if not exists authenticated_at timestamptz;
