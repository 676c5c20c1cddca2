alter table users modify password varchar(255) not null;
