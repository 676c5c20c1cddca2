#!/bin/sh
# Upgrades the services of docker compose to this checkout. After an interruption, run it again: each step can be repeated.
set -eu
cd "$(dirname "$0")/.."

if [ $# -gt 0 ]; then
  echo 'Usage: scripts/upgrade-one-host.sh (.env names the deployment; there are no arguments)' >&2
  exit 2
fi
exec 9< "$0"
if ! flock --nonblock 9; then
  echo 'Another upgrade is running; wait for its end.' >&2
  exit 1
fi

# Compose creates a container under a temporary name before it stops the one that it replaces. One that an interrupted run
# has left would make the next one remove the running container, and then fail.
docker compose ps --all --format '{{.Name}}' | grep -E '^[0-9a-f]{12}_' | xargs -r docker rm > /dev/null

# A build or a migration that fails leaves what runs as it is: the present version works on the newer tables.
docker compose build
# demo-users is the last one before the services. Not by `run`: compose would find the containers of the present version at
# the end, and recreate all services at once because they depend on them.
docker compose up --detach demo-users

# One replica after the other, while the proxy sends requests to the one that is ready. `docker start`, because compose would
# first run the migration again while there is no replica; and not --no-deps, with which compose finds another configuration
# at the end and recreates them all.
for replica in $(docker compose config --services | grep -x 'auth-api\(-2\)\?' | sort); do
  docker compose create "$replica"
  docker start "$(docker compose ps --all --quiet "$replica")" > /dev/null
  docker compose up --wait "$replica"
done
docker compose up --wait
