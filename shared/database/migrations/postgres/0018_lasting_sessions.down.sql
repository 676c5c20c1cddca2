alter table user_session drop column if exists authenticated_at;
alter table user_session drop column if exists amr;
alter table user_session drop column if exists previous_used_at;
alter table user_session drop column if exists used_at;
alter table user_session drop column if exists refresh_form;
alter table user_session drop column if exists refresh_salt;
alter table user_session drop column if exists refresh_hash;
