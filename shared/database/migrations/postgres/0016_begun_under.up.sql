-- What guarded the account when an enrolment or a change of e-mail was begun: a keyed hash of the stored password, and the
-- beginnings of the ids of its second factors. It is completed only while nothing stronger guards the account. Null for what
-- an older version has begun, which has to be begun again.
alter table user_factor add column if not exists begun_under varchar(255);
alter table email_change add column if not exists begun_under varchar(255);
