# Everything a developer types. `make` alone lists it; each target prepares what it needs by itself.

PYTHON_BIN := .venv/bin/python
PYTEST := $(PYTHON_BIN) -m pytest
LISTEN ?= 127.0.0.1:9092
DATA ?= data
ARGS ?=
MINUTES ?= 5
SEEDS ?= 1:2001
RESULTS ?= build/simulate.jsonl

.DEFAULT_GOAL := help
.PHONY: help run test test-fast test-portable compat-java compat-kafka compat-console lint format bench bench-peers profile chaos simulate fuzz demo screenshots dist generate lock setup runtime spark clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

run: runtime ## start a broker on 127.0.0.1:9092 (LISTEN=, DATA=, ARGS= change it)
	@exec .venv/bin/moldau start --listen $(LISTEN) --data $(DATA) $(ARGS)

test: setup ## all tests, real clients and Spark included
	@tools/test $(ARGS)

test-fast: setup ## unit tests only
	@$(PYTEST) -q -m "not long" tests/unit $(ARGS)

test-portable: setup ## the tests with real clients on nodes that ask with poll, as systems without epoll do
	@MOLDAU_READINESS=poll $(PYTEST) -q -m "not long" tests/compat $(ARGS)

compat-java: setup ## Apache Kafka's own tools and clients against ours, and mixed clusters (fetches Kafka's jars with Maven)
	@MOLDAU_KAFKA_LIBS="$$(tools/fetch_kafka $(KAFKA))" && export MOLDAU_KAFKA_LIBS && \
	$(PYTEST) -q -m long tests/compat/test_java_*.py tests/compat/test_mixed_clusters.py \
	tests/compat/test_mirror_maker.py $(ARGS)

compat-kafka: setup ## our clients against Apache Kafka, security and faults included (fetches Kafka's jars with Maven)
	@MOLDAU_KAFKA_LIBS="$$(tools/fetch_kafka $(KAFKA))" && export MOLDAU_KAFKA_LIBS && MOLDAU_COMPAT_BROKER=kafka \
	$(PYTEST) -q -m "not long or kafka" tests/compat/test_client_*.py tests/compat/test_kafka_security.py $(ARGS)

compat-console: setup ## the console against three nodes of Apache Kafka (fetches Kafka's jars with Maven; needs Chromium)
	@MOLDAU_KAFKA_LIBS="$$(tools/fetch_kafka $(KAFKA))" && export MOLDAU_KAFKA_LIBS && MOLDAU_COMPAT_BROKER=kafka \
	$(PYTEST) -q -m "not long" tests/console $(ARGS)

lint: setup ## style, types, layers
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy --strict
	@.venv/bin/lint-imports --no-logo

format: setup ## let ruff rewrite what it can
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

bench: setup ## measure beside librdkafka's mock and Python's clients, half an hour; QUICK=1 takes two minutes
	@CC="$$(tools/setup compiler)" $(PYTHON_BIN) -m bench $(if $(QUICK),--quick) $(if $(OUT),--out $(OUT)) $(ARGS)

bench-peers: setup ## the same beside a warm Apache Kafka and Spark's connector, about an hour; writes docs/benchmarks
	@CC="$$(tools/setup compiler)" $(PYTHON_BIN) -m bench --peers $(if $(QUICK),--quick,--out $(or $(OUT),docs/benchmarks)) $(ARGS)

profile: setup ## a flame graph of the node under ROW='words from the title of a row' in build/
	@CC="$$(tools/setup compiler)" $(PYTHON_BIN) -m bench.profile $(ROW) $(ARGS)

chaos: setup ## what takes minutes: long loads, kills, random bytes
	@$(PYTEST) -q -m long tests/compat tests/chaos tests/simulation tests/spark $(ARGS)

simulate: setup ## clusters of half an hour each, with faults, for SEEDS=1:2001; goes on where it was interrupted
	@mkdir -p $(dir $(RESULTS))
	@$(PYTHON_BIN) -m moldau simulate --minutes 30 --share-group --seeds $(SEEDS) --processes $$(nproc) --results $(RESULTS) $(ARGS)

fuzz: setup ## the property tests again and again, with new examples, for MINUTES=5
	@end=$$(( $$(date +%s) + 60 * $(MINUTES) )); \
	while [ $$(date +%s) -lt $$end ]; do $(PYTEST) -q -x -m hypothesis tests/unit $(ARGS) || exit 1; done

demo: spark ## a pipeline on Spark from generated orders to a report with charts, killed once on the way
	@$(PYTHON_BIN) -m demo $(ARGS)

screenshots: setup ## pictures of the console's pages for docs/operating/pictures, made anew (needs Chromium)
	@PYTHONPATH=tools:tests/console $(PYTHON_BIN) -m screenshots $(ARGS)

dist: setup ## what is published: a source distribution and wheels for Linux, each tried in a fresh environment (dist/)
	@$(PYTHON_BIN) tools/build_distribution.py $(ARGS)

generate: setup ## rewrite what is generated: messages, docs/CONFIGURATION.md, the table of docs/clients/migrating.md
	@$(PYTHON_BIN) tools/generate_messages.py
	@$(PYTHON_BIN) tools/generate_configuration.py
	@$(PYTHON_BIN) -m tools.migration

lock: setup ## resolve requirements/*.in anew into lock files with hashes
	@for name in runtime compiler spark console dev dist; do \
		echo "requirements/$$name.lock"; \
		.venv/bin/pip-compile --quiet --upgrade --strip-extras --allow-unsafe --generate-hashes --no-header \
			--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
			-o requirements/$$name.lock requirements/$$name.in || exit 1; \
	done

setup:
	@tools/setup dev

runtime:
	@tools/setup runtime

spark:
	@tools/setup spark

clean: ## remove everything that was built or installed here
	rm -rf .venv build dist data src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src/moldau/_speed -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
