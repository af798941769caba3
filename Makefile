# Everything a developer types. `make` alone lists it; each target prepares what it needs by itself.

PYTHON_BIN := .venv/bin/python
PYTEST := $(PYTHON_BIN) -m pytest
LISTEN ?= 127.0.0.1:9092
DATA ?= data
ARGS ?=
MINUTES ?= 5

.DEFAULT_GOAL := help
.PHONY: help run test test-fast compat-java lint format bench chaos fuzz generate lock setup runtime clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

run: runtime ## start a broker on 127.0.0.1:9092 (LISTEN=, DATA=, ARGS= change it)
	@exec .venv/bin/moldau start --listen $(LISTEN) --data $(DATA) $(ARGS)

test: setup ## all tests, real clients included
	@$(PYTEST) -q -m "not long" $(ARGS)

test-fast: setup ## unit tests only
	@$(PYTEST) -q -m "not long" tests/unit $(ARGS)

compat-java: setup ## Apache Kafka's own tools and clients against a node (fetches Kafka's jars with Maven)
	@MOLDAU_KAFKA_LIBS="$$(tools/fetch_kafka $(KAFKA))" && export MOLDAU_KAFKA_LIBS && \
	$(PYTEST) -q -m long tests/compat/test_java_tools.py $(ARGS)

lint: setup ## style, types, layers
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check .
	@.venv/bin/mypy --strict
	@.venv/bin/lint-imports --no-logo

format: setup ## let ruff rewrite what it can
	@.venv/bin/ruff check --fix .
	@.venv/bin/ruff format .

bench: setup ## measure beside librdkafka's mock broker; QUICK=1 takes a minute
	@CC="$$(tools/setup compiler)" $(PYTHON_BIN) -m bench $(if $(QUICK),--quick) $(ARGS)
	@echo; echo "compaction, beside a loop that serves"; $(PYTHON_BIN) -m bench.compaction $(if $(QUICK),--records 1000000)
	@echo; echo "start after a clean stop"; $(PYTHON_BIN) -m bench.open_log
	@echo; echo "coordinators"; $(PYTHON_BIN) -m bench.groups
	@echo; echo "Python clients"; $(PYTHON_BIN) -m bench.python_clients $(if $(QUICK),--records 200000)

chaos: setup ## what takes minutes: long loads, kills, random bytes
	@$(PYTEST) -q -m long tests/compat tests/chaos tests/simulation $(ARGS)

fuzz: setup ## the property tests again and again, with new examples, for MINUTES=5
	@end=$$(( $$(date +%s) + 60 * $(MINUTES) )); \
	while [ $$(date +%s) -lt $$end ]; do $(PYTEST) -q -x -m hypothesis tests/unit $(ARGS) || exit 1; done

generate: setup ## rewrite what is generated: messages, docs/CONFIGURATION.md
	@$(PYTHON_BIN) tools/generate_messages.py
	@$(PYTHON_BIN) tools/generate_configuration.py

lock: setup ## resolve requirements/*.in anew into lock files with hashes
	@for name in runtime compiler dev; do \
		echo "requirements/$$name.lock"; \
		.venv/bin/pip-compile --quiet --upgrade --strip-extras --allow-unsafe --generate-hashes --no-header \
			--no-emit-index-url --no-emit-find-links --no-emit-trusted-host \
			-o requirements/$$name.lock requirements/$$name.in || exit 1; \
	done

setup:
	@tools/setup dev

runtime:
	@tools/setup runtime

clean: ## remove everything that was built or installed here
	rm -rf .venv build dist data src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src/moldau/_speed -name '*.so' -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
