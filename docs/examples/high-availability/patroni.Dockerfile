# PostgreSQL with Patroni, which decides what server is the primary, and etcd, in which Patroni keeps that.
FROM postgres:18
RUN apt-get update \
  && apt-get install -y --no-install-recommends patroni etcd-server etcd-client python3-etcd python3-psycopg curl \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -o postgres -g postgres -m 700 /etcd
COPY patroni.yml /usr/local/etc/patroni/
COPY --chmod=755 create-database.sh /usr/local/bin/
ENV PATRONICTL_CONFIG_FILE=/usr/local/etc/patroni
USER postgres
# A primary tells its standbys apart by their names: those of two regions must differ, or one there would count as the one here.
ENTRYPOINT ["sh", "-c", "PATRONI_NAME=${REGION:+$REGION-}$(hostname) PATRONI_RESTAPI_CONNECT_ADDRESS=$(hostname):8008 PATRONI_POSTGRESQL_CONNECT_ADDRESS=$(hostname):5432 exec patroni /usr/local/etc/patroni"]
