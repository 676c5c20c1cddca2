# An older systemd (252), with Node and npm only.
FROM node:24-trixie-slim AS node
FROM debian-systemd:bookworm
COPY --from=node /usr/local /usr/local
RUN useradd --system --create-home app
ENV LC_ALL=C.UTF-8
