-- What an application stores about a user, who can change it: a JSON object as text, which every database compares and returns
-- as it was sent. No column of users: an adopted table may have one of that name, and every check of a token would read it.
create table if not exists user_metadata (
  userid binary(16) not null,
  metadata text character set utf8mb4 collate utf8mb4_bin not null,
  primary key (userid)
) engine = InnoDB default character set utf8mb4;
