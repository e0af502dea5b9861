# The image of all services: `make image` builds it for amd64 and arm64. It runs as nobody, on a read-only root.
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /build
COPY requirements.lock requirements-image.lock pyproject.toml README.md LICENSE ./
COPY schemas schemas
COPY events events
COPY services services
COPY deploy/colony.yaml deploy/colony.yaml
COPY deploy/rbac.yaml deploy/rbac.yaml
# What builds is not part of what runs.
RUN python -m venv /opt/tools && python -m venv --without-pip /opt/alate
RUN /opt/tools/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements-image.lock
RUN /opt/tools/bin/pip --python /opt/alate/bin/python install --no-cache-dir --no-compile --require-hashes -r requirements.lock
RUN /opt/tools/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /opt/wheel . \
    && /opt/tools/bin/pip --python /opt/alate/bin/python install --no-cache-dir --no-compile --no-deps /opt/wheel/alate-*.whl
RUN /opt/tools/bin/cyclonedx-py environment --output-reproducible --of JSON -o /opt/alate/sbom.cdx.json /opt/alate/bin/python
# Compiled here: nothing can be written where it runs.
RUN /opt/alate/bin/python -m compileall -q -j 0 /opt/alate/lib

FROM ${PYTHON}
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="alate" \
      org.opencontainers.image.description="Founds Kubernetes clusters for AI work where GPUs are cheap, fits them out, and leaves nothing behind." \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}"
COPY --from=build /opt/alate /opt/alate
ENV PATH=/opt/alate/bin:/usr/bin:/bin \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    ALATE_LOG_FORMAT=json \
    ALATE_STATE_DIR=/tmp/alate
USER 65532:65532
WORKDIR /tmp
ENTRYPOINT ["/opt/alate/bin/python", "-m", "services"]
