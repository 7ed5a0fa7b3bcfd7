# Sluice's own command line: what prepares, streams and verifies.
ARG PYTHON=python:3.13-slim-bookworm

# Every user can read all of it, whatever the umask that the checkout was made with.
FROM ${PYTHON} AS files
WORKDIR /sluice
COPY lab ./lab
COPY producers ./producers
COPY mappings ./mappings
COPY experiments ./experiments
COPY kibana ./kibana
COPY connect/connectors ./connect/connectors
COPY compose/secure ./secure
# A Windows checkout of before .gitattributes may have kept its line ends.
RUN sed -i 's/\r$//' secure/* && chmod -R a+rX .

FROM ${PYTHON}
WORKDIR /opt/sluice
COPY requirements.lock ./
# Wheels where there are some for this machine: on arm64 hdrhistogram has none, and is compiled of its pinned source.
RUN python3 -m venv /opt/venv \
    && install="/opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes" \
    && install="$install -r requirements.lock" \
    && if ! $install --only-binary=:all:; then \
        apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
        && $install \
        && apt-get purge -y --auto-remove gcc libc6-dev && rm -rf /var/lib/apt/lists/*; \
    fi
COPY --from=files /sluice ./
ENV PYTHONPATH=/opt/sluice PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
USER 1000
ENTRYPOINT ["/opt/venv/bin/python", "-m", "lab.cli"]
