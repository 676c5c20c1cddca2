alter table users alter column password type varchar(255);
