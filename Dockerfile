# A node in a container: docker build -t moldau .
#
# Debian with its Python, and one directory beside that, /opt/moldau. docs/operating/deploying.md says how it is run.

ARG BASE=debian:trixie-slim

FROM ${BASE} AS build
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        ca-certificates gcc libc6-dev python3 python3-dev python3-venv
WORKDIR /source
# Packages change less often than sources, so they are a layer of their own.
COPY requirements/console.lock requirements/
RUN python3 -m venv /opt/moldau \
    && /opt/moldau/bin/pip install --no-cache-dir --no-compile --require-hashes -r requirements/console.lock
COPY pyproject.toml setup.py README.md LICENSE ./
COPY src src
RUN MOLDAU_KERNELS=required CFLAGS=-g0 \
        /opt/moldau/bin/pip install --no-cache-dir --no-compile --no-deps --no-build-isolation . \
    && /opt/moldau/bin/pip uninstall --yes cython setuptools pip \
    && find /opt/moldau -name '*.so*' -exec strip --strip-unneeded {} + \
    && find /opt/moldau \( -name '*.pyx' -o -name '*.pxd' -o -name '*.h' \) -delete \
    && python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/moldau

FROM ${BASE}
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends python3 \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/log/*log /var/log/apt \
    # The user of Apache Kafka's image has this number, too, so volumes may change hands.
    && groupadd --gid 1000 moldau \
    && useradd --uid 1000 --gid moldau --no-create-home --home-dir /var/lib/moldau --shell /usr/sbin/nologin moldau \
    && install -d -o moldau -g moldau -m 750 /var/lib/moldau
COPY --from=build /opt/moldau /opt/moldau
COPY deploy/container/server.properties /etc/moldau/server.properties
COPY --chmod=755 deploy/container/is-ready /opt/moldau/bin/is-ready
ENV PATH=/opt/moldau/bin:$PATH
USER 1000:1000
WORKDIR /var/lib/moldau
VOLUME /var/lib/moldau
# Clients, controllers, metrics.
EXPOSE 9092 9093 9404
HEALTHCHECK --interval=10s --timeout=5s --start-period=2m --retries=3 CMD ["is-ready"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["moldau"]
CMD ["start", "/etc/moldau/server.properties", "--env"]
