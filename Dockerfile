# fairview in a container, built without a network: `make wheel`, then `docker build --tag fairview .`
# Run it on the tables in the current folder: docker run --rm --volume "$PWD:/data" fairview check --nodes people.csv ...
# The wheels fit one version of Python: build with --build-arg PYTHON=3.12 if `make wheel` ran on that one.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim AS build
COPY dist/wheelhouse /wheelhouse
RUN python -m venv /opt/fairview \
 && /opt/fairview/bin/python -m pip install --no-cache-dir --no-index --find-links /wheelhouse 'fairview[report]'

FROM python:${PYTHON}-slim
COPY --from=build /opt/fairview /opt/fairview
RUN useradd --create-home fairview
USER fairview
WORKDIR /data
ENTRYPOINT ["/opt/fairview/bin/fairview"]
CMD ["--help"]
