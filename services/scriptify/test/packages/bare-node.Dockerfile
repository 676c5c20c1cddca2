# Debian bookworm with systemd 252, and Node 24 as an archive of nodejs.org has it.
FROM node:24-trixie-slim AS node
FROM debian-systemd:bookworm
COPY --from=node /usr/local /usr/local
RUN useradd --system --create-home app
ENV LC_ALL=C.UTF-8
