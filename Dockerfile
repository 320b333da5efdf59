# SBERT Studio for a server: user 1000, code that it cannot change, the model inside (a package), all that is written under /data.
# docker build -t sbert-studio . && docker run --read-only --tmpfs /tmp -v sbert-studio:/data -p 127.0.0.1:7860:7860 sbert-studio
FROM python:3.12-slim
RUN useradd --create-home --uid 1000 studio && install -d -o 1000 -g 1000 /data
WORKDIR /app
COPY requirements.txt constraints.txt requirements-dev.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check -r requirements.txt -c constraints.txt $(grep ^prometheus_client== requirements-dev.txt)
COPY app.py LICENSE ./
COPY assets assets
COPY sbert_app sbert_app
RUN python -m compileall -q app.py sbert_app && chmod -R a+rX,a-w .
ENV SBERT_STUDIO_HOME=/data SBERT_STUDIO_HOSTED=1 SBERT_STUDIO_LOG=json GRADIO_SERVER_NAME=0.0.0.0 GRADIO_SERVER_PORT=7860
USER 1000
EXPOSE 7860
HEALTHCHECK --start-period=60s CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:7860/healthz')"]
CMD ["python", "app.py"]
