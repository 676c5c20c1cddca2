# PostgreSQL with Patroni, which decides what server is the primary, and etcd, in which Patroni keeps that.
FROM postgres:18
RUN apt-get update \
  && apt-get install -y --no-install-recommends patroni etcd-server etcd-client python3-etcd python3-psycopg curl \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o postgres -g postgres -m 700 /etcd
COPY patroni.yml /etc/patroni.yml
COPY --chmod=755 create-database.sh /usr/local/bin/
USER postgres
ENTRYPOINT ["sh", "-c", "PATRONI_NAME=$(hostname) PATRONI_RESTAPI_CONNECT_ADDRESS=$(hostname):8008 PATRONI_POSTGRESQL_CONNECT_ADDRESS=$(hostname):5432 exec patroni /etc/patroni.yml"]
