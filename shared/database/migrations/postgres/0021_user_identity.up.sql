-- The accounts of users at identity providers, by which they log in.
create table if not exists user_identity (
  id uuid not null,
  userid uuid not null,
  -- The name of the provider in OIDC_PROVIDERS, and the id that it gives to the person.
  provider varchar(20) not null,
  subject varchar(255) not null,
  -- The address that the provider has said last, for the list of its owner only.
  email varchar(120),
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  constraint pk_user_identity primary key (id),
  constraint uq_user_identity_subject unique (provider, subject)
);

create index if not exists ix_user_identity_userid on user_identity (userid);

-- Logins with an identity provider between two requests: a code of sixty seconds that its page exchanges, or what is still
-- missing for an account. A row is deleted by its use.
create table if not exists identity_login (
  id uuid not null,
  -- HMAC-SHA-256 in hex.
  token_hash char(64) not null,
  -- That of the code of a mail, where one was sent.
  code_hash char(64) not null,
  attempts integer not null default 0,
  -- The person and what the page has to show, sealed.
  content text not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  constraint pk_identity_login primary key (id)
);

create index if not exists ix_identity_login_expires_at on identity_login (expires_at);

create or replace view expired_identity_login with (security_barrier) as
  select id, expires_at as moment from identity_login where expires_at < now();
