drop table if exists sign_up;
