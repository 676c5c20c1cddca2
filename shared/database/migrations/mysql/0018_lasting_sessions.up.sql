-- A session that was asked to last has a refresh token beside its access tokens; in the row of every other one these columns
-- are null. The end of a session clears the hash: nothing can be refreshed without it.
-- refresh_hash is SHA-256 in hex of the newest refresh token, refresh_salt random text from which, with a token, the one after
-- it is derived, refresh_form where the client keeps it: body or cookie. used_at and previous_used_at are the first uses of what
-- the newest refresh brought, and of what the one before it brought, by the clock of the database. amr, separated by spaces, and
-- authenticated_at are how and when the user has logged in, or confirmed the login.
-- MySQL commits DDL by itself and has no "add column if not exists", and a killed migration runs again.
set @add_lasting_sessions = if(
  exists(
    select 1 from information_schema.columns
    where table_schema = database() and table_name = 'user_session' and column_name = 'refresh_hash'
  ),
  'do 0',
  'alter table user_session
    add column refresh_hash varchar(64) character set ascii collate ascii_bin,
    add column refresh_salt varchar(64) character set ascii collate ascii_bin,
    add column refresh_form varchar(8) character set ascii collate ascii_bin,
    add column used_at datetime(3),
    add column previous_used_at datetime(3),
    add column amr varchar(200) character set ascii collate ascii_bin,
    add column authenticated_at datetime(3)'
);
prepare add_lasting_sessions from @add_lasting_sessions;
execute add_lasting_sessions;
deallocate prepare add_lasting_sessions;
