# The bot as a container: `gpubot run` on /data, where gpubot.toml and the database lie.
#
#   docker build -t gpubot .
#   docker run -v gpubot-data:/data --env-file secrets.env gpubot
#
# Secrets come from the environment or from mounted files; none is in the image.

FROM python:3.11-slim AS build
WORKDIR /src
RUN python -m venv /opt/gpubot
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY bot ./bot
RUN /opt/gpubot/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[guest,postgres]'

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --shell /usr/sbin/nologin gpubot \
    && install -d -o gpubot -g gpubot /data
COPY --from=build /opt/gpubot /opt/gpubot
ENV PATH=/opt/gpubot/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MPLCONFIGDIR=/tmp/matplotlib
USER gpubot
WORKDIR /data
VOLUME /data
# `gpubot run` answers on loopback, so the check runs inside the container: HTTP, or HTTPS with whatever certificate ([web] cert_file).
# Without urllib, which would go through the proxy of the environment.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import contextlib, http.client as h, ssl\nat = '127.0.0.1', 8321\ndef well(made):\n with contextlib.suppress(OSError, h.HTTPException): made.request('GET', '/healthz'); return made.getresponse().status == 200\nraise SystemExit(not (well(h.HTTPConnection(*at, timeout=2)) or well(h.HTTPSConnection(*at, timeout=2, context=ssl._create_unverified_context()))))"]
STOPSIGNAL SIGTERM
CMD ["gpubot", "run"]
