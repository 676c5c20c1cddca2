-- Fails, and changes nothing, while a hash is longer than SHA-1's 40 characters (strict mode).
alter table users modify password char(40) not null;
