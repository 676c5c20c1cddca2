#!/bin/sh
# Replaces a secret of docker compose while the services run. After an interruption, run it again: each step can be repeated.
. "$(dirname "$0")/replicas.sh"

usage() {
  cat <<USAGE
Usage: $0 <secret> [--forget | --end-all-tokens | --switch | --es256 | --rs256]

  jwt-secret         signs tokens. Former tokens stay valid; end them with --forget, TOKEN_LIFETIME later
  jwt-key            signs tokens with a private key; others verify them with the public one. Publishes the next key (Ed25519, or
                     with --es256 or --rs256 another). Ten minutes later, --switch signs with it. TOKEN_LIFETIME later, --forget
                     ends the former key or JWT_SECRET
  mail-secret        seals queued mail. Already queued mail can still be sent. RESET_TTL later, --forget ends the former secret
  factor-secret      seals the secrets of second factors. --forget seals all of them with the new secret, then ends the former one
  database-password  the logins of the services and of the owner; the former ones end
  redis-password     the former one ends
  mail-url           read from standard input: smtps://user:password@smtp.example.com

  --forget           end the former secret
  --end-all-tokens   replace JWT_SECRET or the key at once: users without a refresh token have to log in again
USAGE
}

secret=${1:-}
option=${2:-}
case "$secret $option" in
  --help\ ) usage; exit ;;
  jwt-secret\ --end-all-tokens | jwt-key\ --end-all-tokens) ;;
  jwt-key\ | jwt-key\ --switch | jwt-key\ --forget | jwt-key\ --es256 | jwt-key\ --rs256) ;;
  jwt-secret\ | mail-secret\ | factor-secret\ | jwt-secret\ --forget | mail-secret\ --forget | factor-secret\ --forget) ;;
  database-password\ | redis-password\ | mail-url\ ) ;;
  *) usage >&2; exit 2 ;;
esac
if [ $# -gt 2 ]; then usage >&2; exit 2; fi
refuse_second_run

engine=$(docker compose config --services | sed -n 's/^secrets-//p')

secrets() {
  docker compose run --rm --no-deps -T "secrets-$engine" node scripts/release/compose-secrets.ts "$@" || return
  # The servers accept the next and the former password.
  case $secret in *-password) docker compose run --rm --no-deps -T "prepare-$engine" > /dev/null ;; esac
}

# One replica after the other, each when the one before is ready. Workers first: they accept what auth-api will use.
restart() {
  for service in $(services "$1"); do
    for container in $(docker compose ps --quiet "$service"); do
      docker restart --time 25 "$container" > /dev/null
      await_healthy "$container"
    done
  done
}
restart_all() {
  restart mailer-worker
  restart 'auth-api\(-2\)\?'
}

# Redis reads again which passwords it accepts. Its connections stay.
load_redis_users() {
  docker compose exec -T redis sh -c \
    'REDISCLI_AUTH=$(cat /run/secrets/password) redis-cli ACL LOAD' | grep -qx OK
}

# From now on the owner connects with the next password. Only the service migrate connects as the owner.
change_owner_password() {
  if [ "$engine" = postgres ]; then
    docker compose exec -T postgres sh -c \
      "printf \"alter role latchkey password '%s';\" \"\$(cat /run/secrets/next_password)\" | psql -v ON_ERROR_STOP=1 --quiet -U latchkey"
  else
    docker compose exec -T mysql sh -c '
      next=$(cat /run/secrets/next_password)
      for password in "$(cat /run/secrets/password)" "$next"; do
        printf "alter user root@localhost identified by \"%s\"; alter user root@\"%%\" identified by \"%s\";" "$next" "$next" |
          MYSQL_PWD=$password mysql -uroot 2> /tmp/refusal && exit
      done
      cat /tmp/refusal >&2; exit 1'
  fi
}

# Drops the logins that an interrupted run has left, too.
drop_former_logins() {
  current=$(docker compose run --rm --no-deps -T "prepare-$engine" \
    "cut -d: -f1 /secrets/kept/auth_api_login /secrets/kept/mailer_worker_login" | sed "s/.*/'&'/" | paste -sd,)
  pattern='^latchkey_(auth_api|mailer_worker)_[0-9a-f]{6}$'
  if [ "$engine" = postgres ]; then
    docker compose exec -T postgres psql -v ON_ERROR_STOP=1 --quiet -U latchkey <<SQL
select format('drop owned by %I; drop role %I;', rolname, rolname)
  from pg_roles where rolname ~ '$pattern' and rolname not in ($current) \\gexec
SQL
  else
    docker compose exec -T mysql sh -c '
      export MYSQL_PWD=$(cat /run/secrets/password)
      mysql -uroot --skip-column-names | mysql -uroot' <<SQL
select concat('drop user ', user, ';') from mysql.user where user regexp '$pattern' and user not in ($current);
SQL
  fi
}

if [ "$secret" = mail-url ]; then
  if docker compose config --environment 2> /dev/null | grep -q '^MAIL_URL=.'; then
    echo 'MAIL_URL is in .env or in your environment, which overrides this one. Remove it there first.' >&2
    exit 1
  fi
  if [ -t 0 ]; then
    printf 'MAIL_URL: ' >&2
    trap 'stty echo' EXIT
    # dash runs the line above for no signal.
    trap 'exit 130' HUP INT TERM
    stty -echo
    read -r url
    stty echo
    printf '%s' "$url" | secrets --mail-url
  else
    secrets --mail-url
  fi
  restart mailer-worker
  exit
fi

if [ "$option" = --forget ]; then
  # What only the former one opens would be lost.
  if [ "$secret" = factor-secret ]; then
    docker compose run --rm --no-deps -T scriptify run Users::resealFactors
  fi
  secrets --forget "$secret"
  case $secret in
    mail-secret) restart mailer-worker ;;
    jwt-key | factor-secret) restart 'auth-api\(-2\)\?' ;;
    *) restart_all ;;
  esac
  echo "The former $secret has ended."
  exit
fi

# Verifiers fetch the next key before it signs, so each step is a command of its own.
if [ "$secret" = jwt-key ] && [ "$option" != --end-all-tokens ]; then
  case $option in
    --switch) secrets --switch jwt-key ;;
    --*) secrets --introduce jwt-key --kind "${option#--}" ;;
    *) secrets --introduce jwt-key ;;
  esac || {
    code=$?
    [ "$code" != 3 ] || echo "The former key has not ended; end it with: $0 jwt-key --forget" >&2
    exit "$code"
  }
  restart 'auth-api\(-2\)\?'
  case $option in
    --switch) echo "The key is in use. TOKEN_LIFETIME later, end what was before: $0 jwt-key --forget" ;;
    *) echo "The next key is published. Ten minutes later, sign with it: $0 jwt-key --switch" ;;
  esac
  exit
fi

# An unfinished rotation would keep the stolen secret in use, or switch to a next one that may be stolen too.
if [ "$option" = --end-all-tokens ]; then secrets --abandon "$secret"; fi
code=0
secrets --introduce "$secret" || code=$?
case $code in
  0)
    case $secret in
      jwt-secret) [ -n "$option" ] || restart 'auth-api\(-2\)\?' ;;
      factor-secret) restart 'auth-api\(-2\)\?' ;;
      mail-secret) restart mailer-worker ;;
      redis-password) load_redis_users ;;
      database-password)
        change_owner_password
        docker compose run --rm --no-deps -T migrate > /dev/null
        ;;
    esac
    secrets --switch "$secret"
    ;;
  3) secrets --switch "$secret" ;; # An earlier run was interrupted after its switch.
  *) exit "$code" ;;
esac
if [ "$option" = --end-all-tokens ]; then secrets --forget "$secret"; fi
restart_all

case "$secret $option" in
  *\ --end-all-tokens) echo "$secret is new, and all earlier tokens are invalid." ;;
  database-password*)
    drop_former_logins
    secrets --forget "$secret"
    echo "$secret is new, and the former one has ended."
    ;;
  redis-password*)
    secrets --forget "$secret"
    load_redis_users
    echo "$secret is new, and the former one has ended."
    ;;
  *)
    if [ "$code" = 3 ]; then
      echo "A rotation is in progress; end it with: $0 $secret --forget" >&2
      exit 1
    fi
    echo "$secret is new. The former one is still accepted; end it later with: $0 $secret --forget"
    ;;
esac
