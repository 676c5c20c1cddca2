-- Users whose data is to be erased, or was: the row of such a user stays without a person, so that what points at its id does too.
create table if not exists user_erasure (
  userid binary(16) not null,
  due_at datetime(3) not null,
  erased_at datetime(3),
  primary key (userid),
  index ix_user_erasure_due_at (erased_at, due_at)
) engine = InnoDB default character set utf8mb4;

-- The events of erased users, for mailer-worker, which takes the person out of them. It uses the rights of the owner of this view.
create or replace sql security definer view expired_audit_person as
  select id, name, userid, address, request_id, reason from audit_event
  where userid in (select userid from user_erasure where erased_at is not null);
