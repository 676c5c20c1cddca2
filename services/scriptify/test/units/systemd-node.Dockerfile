# An older systemd (252), with Node only.
FROM node:24-trixie-slim AS node
FROM debian-systemd:bookworm
COPY --from=node /usr/local/bin/node /usr/local/bin/node
RUN useradd --system --create-home app
ENV LC_ALL=C.UTF-8
