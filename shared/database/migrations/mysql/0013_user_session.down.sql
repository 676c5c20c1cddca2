drop table if exists user_session;
