# The images of the three services, one target for each: docker build --target auth-api .
# They share the packages and the code. Two builds of one commit have equal layers, but for that of the compile cache: each layer
# is one COPY of files that are dated 1970.
FROM node:24-trixie-slim AS base

# The base without npm, because a running service installs nothing.
# As PID 1 Node does not reap orphans; tini does, and forwards signals.
FROM base AS debian
RUN apt-get update && apt-get install -y --no-install-recommends tini
RUN --mount=type=bind,from=base,target=/base cp --archive /base /image \
  && cp /usr/bin/tini-static /image/usr/sbin/tini \
  && cd /image/usr/local && rm -rf lib/node_modules include bin/npm bin/npx bin/corepack bin/yarn bin/yarnpkg /image/opt/yarn-* /image/dev/* /image/tmp/* \
  && mkdir /image/app && find /image -exec touch --no-dereference --date=@0 {} +

# Source maps, declarations and TypeScript sources of libraries are not loaded; they are half of what npm unpacks.
FROM base AS packages
WORKDIR /latchkey
COPY package.json package-lock.json .npmrc ./
COPY admin/package.json admin/
COPY packages/account-pages/package.json packages/account-pages/
COPY shared/package.json shared/
COPY shared/text/package.json shared/text/
COPY services/auth-api/package.json services/auth-api/
COPY services/mailer-worker/package.json services/mailer-worker/
COPY services/scriptify/package.json services/scriptify/
COPY test-support/package.json test-support/
RUN npm ci --omit=dev --workspaces --include-workspace-root=false \
  && find node_modules \( -name '*.map' -o -name '*.ts' -o -name '*.cts' -o -name '*.mts' -o -name '*.md' \) -type f -delete
# npm describes a tree in which nothing is missing and nothing is unneeded. Without its time and its random number the
# description is the same for the same lock file.
RUN npm pkg delete dependencies optionalDependencies && npm pkg delete devDependencies --workspaces --include-workspace-root \
  && npm prune --omit=dev && rm -rf node_modules/.cache \
  && npm sbom --sbom-format cyclonedx --sbom-type application > sbom.json \
  && sed --in-place '/"serialNumber":/d; /"timestamp":/d' sbom.json
RUN mkdir -p /image/app && cp --archive --parents node_modules */node_modules services/*/node_modules sbom.json /image/app \
  && find /image -exec touch --no-dereference --date=@0 {} +

# Under a strict umask only the owner may read the checkout; the image runs as another user.
FROM base AS sources
WORKDIR /image/app
COPY package.json ./
COPY admin admin
COPY config config
COPY packages packages
COPY services services
COPY shared shared
COPY templates templates
COPY scripts/release scripts/release
COPY scripts/local/seed-demo-users.ts scripts/local/add-demo-users.ts scripts/local/
RUN chmod -R a+rX,go-w . && find /image -exec touch --no-dereference --date=@0 {} +

# Each extension may have its own packages.
FROM base AS extensions
WORKDIR /image/app
COPY extensions extensions
RUN for lock in extensions/*/package-lock.json; do \
    [ ! -f "$lock" ] || npm ci --omit=dev --prefix "$(dirname "$lock")" || exit 1; \
  done && chmod -R a+rX,go-w extensions && find /image -exec touch --no-dereference --date=@0 {} +

# What Node compiles until a service waits for its database, and for a command of scriptify: half of the processor time of a
# start. The cache is for this user and this kind of processor.
FROM base AS compiled
WORKDIR /app
COPY --from=packages /image /
COPY --from=sources /image /
COPY --from=extensions /image /
USER node
ENV NODE_COMPILE_CACHE=/tmp/compiled
RUN export DATABASE_URL=postgres://127.0.0.1:1/none MAIL_URL=null: \
    JWT_SECRET=$(head -c 64 /dev/urandom | base64 -w 0) MAIL_SECRET=$(head -c 32 /dev/urandom | base64 -w 0); \
  for service in auth-api mailer-worker; do \
    node services/$service/src/main.ts > /tmp/log & \
    while kill -0 $! && ! grep 'not ready, waiting' /tmp/log; do sleep 0.1; done; \
    kill $!; wait $!; \
  done; \
  for words in --help 'run Secrets::generate' 'terminal --runtime node --execute 1'; do \
    services/scriptify/bin/scriptify $words > /dev/null; \
  done
USER root
RUN mkdir -p /image/app/node_modules/.cache && cp -r /tmp/compiled /image/app/node_modules/.cache/node \
  && chmod -R a+rX,go-w /image/app && find /image -exec touch --no-dereference --date=@0 {} +

FROM scratch AS runtime
ARG VERSION=1.0.0-rc.0
ARG REVISION=unknown
LABEL org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.base.name="docker.io/library/node:24-trixie-slim" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION"
COPY --from=debian /image /
# The packages before the code: an upgrade that changes only the code loads at most 5 MB.
COPY --from=packages /image /
COPY --from=sources /image /
COPY --from=extensions /image /
COPY --from=compiled /image /
WORKDIR /app
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/node_modules/.cache/node
USER node
STOPSIGNAL SIGTERM
ENTRYPOINT ["/sbin/tini", "--"]

# Debian's php-cli includes pcntl and posix. What its installation has changed is a layer: the files with a later ctime.
FROM base AS php
RUN touch /start \
  && apt-get update \
  && apt-get install -y --no-install-recommends php8.4-cli php8.4-mysql php8.4-pgsql php8.4-readline \
  && rm -rf /var/lib/apt/lists/* /var/cache/apt /var/cache/ldconfig/aux-cache /var/log/* \
  && ln -s /app/services/scriptify/bin/scriptify /usr/local/bin/scriptify \
  && install -d -o node -g node -m 0700 /state \
  && mkdir /image && cd / \
  && find . -xdev -mindepth 1 -cnewer /start ! -path './image*' ! -path './tmp*' -print0 \
    | tar --create --null --no-recursion --files-from=- | tar --extract --directory /image \
  && find /image -exec touch --no-dereference --date=@0 {} +

FROM runtime AS scriptify
LABEL org.opencontainers.image.title="Latchkey scriptify" \
  org.opencontainers.image.description="Terminals, methods, system services and HTTP requests, in PHP and TypeScript"
COPY --from=php /image /
# A volume at /state keeps the history of terminals.
ENV XDG_STATE_HOME=/state
# A command runs and ends; there is no server to check.
HEALTHCHECK NONE
ENTRYPOINT ["/sbin/tini", "--", "scriptify"]
CMD ["--help"]

FROM runtime AS mailer-worker
LABEL org.opencontainers.image.title="Latchkey mailer-worker" \
  org.opencontainers.image.description="Sends what is queued"
EXPOSE 9465
# Bash, because to start Node each time costs more than the idle worker.
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${METRICS_PORT:-9465} && printf 'GET /health/ready HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
# By default the young generation grows to 32 MiB and stays so, and garbage to more than the container may have.
CMD ["node", "--max-semi-space-size=4", "--max-old-space-size=96", "services/mailer-worker/src/main.ts"]

FROM runtime AS auth-api
LABEL org.opencontainers.image.title="Latchkey auth-api" \
  org.opencontainers.image.description="HTTP and tokens; also carries the migrations"
EXPOSE 8080 9464
HEALTHCHECK --interval=5s --timeout=5s --start-period=60s --retries=3 \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/${PORT:-8080} && printf 'GET /health/ready HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
# By default the young generation grows to 32 MiB and stays so.
CMD ["node", "--max-semi-space-size=4", "services/auth-api/src/main.ts"]
