# shellcheck shell=bash
# Functions that the scripts beside this one share. They source it.
set -eu
cd "$(dirname "$0")"

# Each project of compose has a lock: a checkout may run several.
refuse_second_run() {
  mkdir -p ../.data
  exec 9> "../.data/$(docker compose config 2> /dev/null | sed -n 's/^name: //p').lock"
  if ! flock --nonblock 9; then
    echo 'Another upgrade or rotation is running; wait for its end.' >&2
    exit 1
  fi
}

await_healthy() {
  tries=120
  while [ "$(docker inspect --format '{{.State.Health.Status}}' "$1")" != healthy ]; do
    tries=$((tries - 1))
    # One that exits is started again.
    if [ "$tries" = 0 ] || [ "$(docker inspect --format '{{.RestartCount}}' "$1")" -gt 2 ]; then
      echo "$1 does not become ready; the end of its log says why:" >&2
      docker logs --tail 5 "$1" >&2
      echo 'Run this script again when that is fixed.' >&2
      exit 1
    fi
    sleep 1
  done
}

# The services that match, in the order of their names; auth-api-2 is there with the profile proxy.
services() {
  docker compose config --services | grep -x "$1" | sort
}
