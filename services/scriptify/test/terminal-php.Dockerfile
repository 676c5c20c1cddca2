FROM node:24-trixie-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends php-cli php-readline php-mysql php-pgsql \
  && rm -rf /var/lib/apt/lists/*
