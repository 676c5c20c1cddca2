# Debian trixie with systemd, cron, php 8.4 and Composer; bookworm has no php that is new enough.
FROM node:24-trixie-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends \
    systemd systemd-sysv cron sysvinit-utils init-system-helpers util-linux procps shellcheck php-cli composer unzip \
  && rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d \
  && systemctl mask tmp.mount dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount \
    getty.target console-getty.service systemd-logind.service systemd-modules-load.service \
  && systemctl set-default multi-user.target \
  && useradd --system --create-home app
STOPSIGNAL SIGRTMIN+3
ENV container=docker LC_ALL=C.UTF-8
CMD ["/sbin/init"]
