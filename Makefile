# `make demo` and `make test` do everything on a fresh machine: Python 3.11+, make and a package index.
SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE # the tests start hundreds of processes: what one compiled serves all others
QUICK := $(addprefix tests/schemas/test_,accelerators.py durations.py registry.py subjects.py) \
	$(addprefix tests/services/,colony entities gateway/status inventory/read kubernetes market) \
	$(addprefix tests/services/provisioning/,lifecycle placement)

help: ## what can be made
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.venv/.ready: requirements.lock requirements-dev.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup: .venv/.ready ## the virtual environment in .venv

demo: setup ## the main job, shown happening: a cluster founded and gone
	$(BIN)/alate demo

test: setup ## the tests, on the real nats-server
	$(BIN)/pytest -n 3 --dist worksteal -m "not alone and not faults and not slow"
	$(BIN)/pytest -m "alone and not faults"

test-quick: setup ## the decisions alone: no process, no socket, no waiting; in seconds
	ALATE_TEST_ALIKE=1 ALATE_TEST_EXAMPLES=0.1 $(BIN)/pytest -n 2 $(QUICK)

kube: setup ## the real Kubernetes and Cluster API for the tests, built from Go modules into the user's cache, once
	$(BIN)/python -m tests.kube.build

test-faults: setup ## the real Kubernetes taken away, and 20 clusters through Cluster API (half an hour, after make kube)
	$(BIN)/pytest -m faults

test-slow: setup ## what is too slow for every day: stacks stopped, killed and attacked, every how-to page, every state an entity can reach
	$(BIN)/pytest -n 2 --dist worksteal -m "slow and not kube"
	ALATE_TEST_ALIKE=inf $(BIN)/pytest -n 2 tests/services/entities
	ALATE_TEST_EVERY_STEP=1 $(BIN)/pytest -n 2 -m "not faults" tests/contracts/clouds
	ALATE_TEST_CRASH_EVERY=1 ALATE_TEST_HISTORIES=400 ALATE_TEST_INPUTS=3000 $(BIN)/pytest -n 2 \
		tests/services/crash tests/services/leaks tests/fuzz
	ALATE_TEST_EXAMPLES=1 $(BIN)/pytest -n 2 -m "not slow and not faults and not stack and not browser" tests/schemas \
		tests/services/edge tests/services/inventory tests/services/provisioning tests/services/sandbox/api

test-long: setup ## 10,000 histories, 100,000 hostile inputs, 50 ends, 20 kills of NATS, each stopped for a minute, a minute of attack (over an hour)
	ALATE_TEST_HISTORIES=10000 $(BIN)/pytest tests/services/leaks
	ALATE_TEST_INPUTS=100000 $(BIN)/pytest tests/fuzz tests/services/gateway/test_foreign.py \
		tests/services/inventory/test_foreign.py
	ALATE_TEST_ENDS=50 $(BIN)/pytest -m "not faults" tests/story/test_random_ends.py
	ALATE_TEST_NATS_KILLS=20 ALATE_TEST_NATS_COLONIES=50 $(BIN)/pytest -m "not faults" tests/story/test_nats_killed.py
	ALATE_TEST_STOPPED_SECONDS=60 $(BIN)/pytest -m "not faults" tests/story/test_stopped.py
	ALATE_TEST_ATTACK_SECONDS=$${ALATE_TEST_ATTACK_SECONDS:-60} $(BIN)/pytest -m "not faults" tests/attack

fuzz: setup ## 100,000 inputs each to the codec, the signatures, YAML and rules, bent towards code not reached yet (Linux)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-fuzz.lock
	$(BIN)/python -m tests.fuzz

asyncapi: ## the AsyncAPI document held against its specification by the official CLI (needs node)
	npx --yes @asyncapi/cli@6.2.0 validate schemas/generated/asyncapi.yaml

pictures: setup ## the pictures in docs/images: the page and a dashboard of simulated fleets (needs /usr/bin/chromium, prometheus)
	$(BIN)/python -m tests.pictures

check: setup ## lint, types, import contracts, declared dependencies, generated files
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry .
	$(BIN)/python -m schemas --check
	$(BIN)/python -m services.generate.nats_permissions --check
	$(BIN)/python -m services.generate.event_pages --check
	$(BIN)/python -m services.generate.dashboards --check
	$(BIN)/python -m services.generate.reference --check
	$(BIN)/python -m services.generate.chart --check

bench: setup ## figures as ratios to bare references, into .bench/latest.json
	$(BIN)/python -m tests.bench

bench-kube: setup ## alate beside bare loops and kopf on a real API server, into .bench/kube.json
	$(BIN)/python -m tests.bench.kube

image: ## the container image alate:VERSION with its bill of materials in it (needs docker); PLATFORMS for several
	docker build $(if $(PLATFORMS),--platform $(PLATFORMS)) --build-arg VERSION=$(VERSION) --tag alate:$(VERSION) .
	docker run --rm --entrypoint /opt/alate/bin/python alate:$(VERSION) -c "print(open('/opt/alate/sbom.cdx.json').read())" > alate-$(VERSION).cdx.json

docs: setup ## the documentation as a site in site/; fails on a broken link
	$(BIN)/zensical build --clean --strict

generate: setup ## write generated files: schemas, event pages, permissions, dashboards, docs/reference, the chart
	$(BIN)/python -m schemas
	$(BIN)/python -m services.generate.nats_permissions
	$(BIN)/python -m services.generate.event_pages
	$(BIN)/python -m services.generate.dashboards
	$(BIN)/python -m services.generate.reference
	$(BIN)/python -m services.generate.chart

lock: ## requirements*.lock anew (needs uv)
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header pyproject.toml --group dev -o requirements-dev.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --group image -o requirements-image.lock
	uv pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --group fuzz -o requirements-fuzz.lock

.PHONY: image pictures help setup demo test test-quick test-faults test-slow test-long fuzz kube asyncapi check bench bench-kube docs generate lock
