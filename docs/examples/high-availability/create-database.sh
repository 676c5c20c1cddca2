#!/bin/sh -e
# Runs once, on the first primary. The services have their own logins, which the migration creates.
psql --set ON_ERROR_STOP=1 --no-psqlrc "$1" <<'SQL'
create role latchkey login createrole password 'latchkey';
create database latchkey owner latchkey;
-- PgBouncer's clients cannot set it: a statement that waits for a lock ends before the 15 s of its client.
alter database latchkey set statement_timeout = '14s';
SQL
