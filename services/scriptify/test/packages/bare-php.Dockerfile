# Debian trixie with systemd 257, php 8.4 and Composer, and Node 24 as an archive of nodejs.org has it.
FROM node:24-trixie-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends \
    systemd systemd-sysv init-system-helpers procps php-cli composer unzip \
  && rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d \
  && systemctl mask tmp.mount dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
    getty.target console-getty.service systemd-logind.service systemd-modules-load.service \
  && systemctl set-default multi-user.target \
  && useradd --system --create-home app
STOPSIGNAL SIGRTMIN+3
ENV container=docker LC_ALL=C.UTF-8
CMD ["/sbin/init"]
