-- What an application stores about a user, who can change it: a JSON object as text, which every database compares and returns
-- as it was sent. No column of users: an adopted table may have one of that name, and every check of a token would read it.
create table if not exists user_metadata (
  userid uuid not null,
  metadata text not null,
  constraint pk_user_metadata primary key (userid)
);
