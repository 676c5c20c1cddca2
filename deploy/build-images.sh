#!/bin/sh
# Builds the three images of this checkout, and labels them with its commit, the time of the commit and its repository.
set -eu
cd "$(dirname "$0")"

if [ $# -gt 0 ]; then
  echo "Usage: $0 (LATCHKEY_VERSION, in .env or the environment, is the tag; there are no arguments)" >&2
  exit 2
fi

# In an archive without a repository the labels stay empty, and the revision is unknown.
if REVISION=$(git rev-parse --verify HEAD 2> /dev/null); then
  # Only changes of files that an image contains count: not .env, and not a backup beside it.
  [ -z "$(git status --porcelain -- ':/*/*' ':/package*.json' :/.npmrc ':(exclude)*')" ] || REVISION=$REVISION-dirty
  CREATED=$(git log -1 --format=%cI)
  # Without the user and the password that a URL may contain.
  SOURCE=$(git remote get-url origin 2> /dev/null | sed 's|//[^/]*@|//|')
  export REVISION CREATED SOURCE
fi

docker compose build
# In a profile, which `docker compose build` leaves out.
docker compose build scriptify
