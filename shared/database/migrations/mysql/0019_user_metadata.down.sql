drop table if exists user_metadata;
