-- Fails, and changes nothing, while a hash is longer than SHA-1's 40 characters.
do $$
begin
  if exists (select from users where length(password) > 40) then
    raise exception 'users.password has hashes longer than 40 characters; narrowing it would lose them';
  end if;
end
$$;

alter table users alter column password type char(40);
