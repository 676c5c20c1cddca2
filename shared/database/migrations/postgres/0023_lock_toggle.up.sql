-- Nothing to do: PostgreSQL has one server that takes changes, and a lock of a row there is a lock for all.
select 1;
