drop table if exists latchkey_installation;
