-- Two addresses that differ only by case are one. Accents count.
create unique index if not exists ix_email_folded on users (lower(email));
create unique index if not exists ix_username_folded on users (lower(username));
