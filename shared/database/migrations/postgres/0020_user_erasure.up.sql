-- Users whose data is to be erased, or was: the row of such a user stays without a person, so that what points at its id does too.
create table if not exists user_erasure (
  userid uuid not null,
  due_at timestamptz not null,
  erased_at timestamptz,
  constraint pk_user_erasure primary key (userid)
);

create index if not exists ix_user_erasure_due_at on user_erasure (erased_at, due_at);

-- The events of erased users, for mailer-worker, which takes the person out of them. It uses the rights of the owner of this view.
create or replace view expired_audit_person with (security_barrier) as
  select id, name, userid, address, request_id, reason from audit_event
  where userid in (select userid from user_erasure where erased_at is not null);
