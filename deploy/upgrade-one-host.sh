#!/bin/sh
# Upgrades the services of docker compose to this checkout. After an interruption, run it again: each step can be repeated.
. "$(dirname "$0")/replicas.sh"

if [ $# -gt 0 ]; then
  echo "Usage: $0 (.env names the deployment; there are no arguments)" >&2
  exit 2
fi
refuse_second_run

# Compose creates a container under a temporary name before it stops the one that it replaces. One that an interrupted run
# has left would make the next one remove the running container, and then fail.
docker compose ps --all --format '{{.Name}}' | grep -E '^[0-9a-f]{12}_' | xargs -r docker rm > /dev/null

# Compose refuses .env of another environment or database here, before a build that takes minutes.
docker compose create --no-recreate redis

# What fails before the replicas leaves what runs as it is: the present version works on the newer tables.
./build-images.sh
# demo-users is the last one before the services. Not by `run`: compose would find the containers of the present version at
# the end, and recreate all services at once because they depend on them.
docker compose up --detach demo-users
for service in auth-api mailer-worker; do
  docker compose run --rm --no-deps -T "$service" node "services/$service/src/main.ts" --check-settings
done

# The order of docs/reference/versions.md: the workers send what the present auth-api queues, and what the next one will.
docker compose create mailer-worker
for container in $(docker compose ps --all --format '{{.Name}}' mailer-worker); do
  docker start "$container" > /dev/null
  await_healthy "$container"
done

# One replica after the other, while the proxy sends requests to the one that is ready. `docker compose up` would first run the
# migration again, while the replica is missing. With --no-deps it would not, but the `up` at the end would then find another
# configuration, and recreate all replicas.
for replica in $(services 'auth-api\(-2\)\?'); do
  # The next container has the name of the present one. The name is read before `create`, from which on clients wait.
  container=$(docker compose ps --all --format '{{.Name}}' "$replica")
  docker compose create "$replica"
  container=${container:-$(docker compose ps --all --format '{{.Name}}' "$replica")}
  docker start "$container" > /dev/null
  # Nothing else runs during the replacement: it would delay the start.
  await_healthy "$container"
done
docker compose up --wait
