# The commands of this project. `make test` and `make lint` are what a landing must pass.

.PHONY: help fmt lint test test-python test-page page wheel package tidy documents docs figures fuzz soak mutants load bench baseline counts bench-peer bench-workers deny clean

PYTHON ?= python3
TOOLS := .tools
VENV := $(TOOLS)/venv
PANDAS := $(TOOLS)/pandas
# Seconds for each target of `make fuzz`, and in all for `make soak`.
FUZZ_SECONDS ?= 5
SOAK_SECONDS ?= 3600
# Groups of `make mutants`, all if none: money validation mechanisms ledger.
MUTANTS ?=

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

fmt: ## Format all code
	cargo fmt --all
	cargo fmt --manifest-path fuzz/Cargo.toml

lint: ## Check format, lints, documentation, dependencies, and the instructions of the core cases
	cargo fmt --all -- --check
	cargo fmt --manifest-path fuzz/Cargo.toml -- --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --locked -- -D warnings # what ships: without the features that only tests have
	cargo clippy --manifest-path fuzz/Cargo.toml --no-default-features --all-targets --locked --target-dir $${CARGO_TARGET_DIR:-target} -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	$(MAKE) deny
	$(MAKE) counts

deny: $(TOOLS)/bin/cargo-deny ## Check licences, bans and sources of dependencies
	cargo fetch --locked
	$(TOOLS)/bin/cargo-deny --offline --locked check licenses bans sources

test: ## Run all tests, those of the store on a PostgreSQL of their own too
	(PYTHON=$(PYTHON) bash scripts/python.sh environments > /dev/null 2>&1 &) # downloads while Rust is compiled; `make test-python` waits for it
	bash scripts/postgres.sh run cargo test --workspace --locked
	cargo test --locked --manifest-path fuzz/Cargo.toml --no-default-features --target-dir $${CARGO_TARGET_DIR:-target}
	$(MAKE) tidy
	$(MAKE) test-python
	$(MAKE) test-page
	$(MAKE) fuzz

test-python: ## Build the wheel, install it into empty environments, and run the tests of the Python package
	PYTHON=$(PYTHON) bash scripts/python.sh

test-page: ## Check that the built page is fresh, and test it in Chromium
	bash scripts/page.sh test

page: ## Build the page into the crate that serves it
	bash scripts/page.sh build

wheel: $(TOOLS)/wheel/.ready ## Build the wheel to publish, dist/truthfed-*.whl
	rm -rf dist
	$(TOOLS)/wheel/bin/maturin build --locked --release --compression-level 9 --interpreter $(PYTHON) --out dist
	test -z "$$(find dist -size +9999999c)" # 10 MB at most: an index may refuse more, and people download it

package: ## Build the Debian package, the list of what is in it, and a container image where docker answers, into dist/; try the package in a folder
	bash scripts/package.sh build
	bash scripts/package.sh try

tidy: $(PANDAS)/.ready ## Load the tables of a run and of a sweep into pandas, with the program that the tests built
	$(PANDAS)/bin/python scripts/tidy/test_tidy.py $${CARGO_TARGET_DIR:-target}/debug/truthfed

# `make test` runs this check too. It is no part of `make lint`, which builds one small program only: it would build and run everything twice.
documents: ## Run every quick command of README.md and docs/, and compare what it prints and the figures in the text
	cargo test --locked -p truthfed-cli --test documents

figures: ## Write what the commands in README.md and docs/ print into these pages, and copy the pictures
	TRUTHFED_DOCUMENTS=write cargo test --release --locked -p truthfed-cli --test documents

docs: $(TOOLS)/docs/.ready ## Build the site out/site from docs/ and the Python package; a link that leads nowhere fails it
	NO_MKDOCS_2_WARNING=1 $(TOOLS)/docs/bin/mkdocs build # not --quiet: it counts no warnings then

fuzz: ## Fuzz every target, FUZZ_SECONDS=5 each
	bash scripts/fuzz.sh $(FUZZ_SECONDS)

soak: ## Look for violations for an hour, or SOAK_SECONDS
	bash scripts/soak.sh $(SOAK_SECONDS)

mutants: $(TOOLS)/bin/cargo-mutants ## Show changes of money, validation, mechanisms and ledger that no test notices (hours)
	bash scripts/mutants.sh $(MUTANTS)

bench: ## Measure LinUCB and every mechanism
	cargo bench -p truthfed --locked

# Of library and simulator, in release: what it counts is what ships. A minute on two cores, and of a change seconds.
counts: ## Compare the instructions of the core cases with bench/baseline.json: 5 % more or less fails
	bash scripts/counts.sh check

baseline: ## Write the instructions of the core cases to bench/baseline.json; the commit says why they moved
	bash scripts/counts.sh write

bench-peer: $(VENV)/.ready wheel ## Measure beside numpy in one run, the program and the Python package
	cargo build --release --locked
	$(VENV)/bin/python bench/peer_numpy.py --truthfed $${CARGO_TARGET_DIR:-target}/release/truthfed
	$(VENV)/bin/pip install --quiet --no-deps --force-reinstall dist/truthfed-*.whl
	$(VENV)/bin/python bench/peer_python.py

bench-workers: wheel $(TOOLS)/workers/.ready ## Measure sweeps on Ray and joblib: overhead per cell, speed-up from one worker to two
	$(TOOLS)/workers/bin/pip install --quiet --no-deps --force-reinstall dist/truthfed-*.whl
	$(TOOLS)/workers/bin/python bench/scattered.py

load: ## Measure a coordinator under load and attack (half an hour; exit code 1 if a bound is missed)
	bash scripts/postgres.sh run cargo run --release --locked -p truthfed-proof -- load

clean: ## Remove everything that was built
	cargo clean
	rm -rf $(TOOLS) out dist page/node_modules

# It runs for a second: built without optimisation it is ready minutes earlier.
$(TOOLS)/bin/cargo-deny:
	CARGO_PROFILE_DEV_DEBUG=0 cargo install cargo-deny --version 0.20.2 --locked --debug --root $(TOOLS)

$(TOOLS)/bin/cargo-mutants:
	cargo install cargo-mutants --version 27.1.0 --locked --root $(TOOLS)

$(VENV)/.ready: bench/requirements.txt
$(PANDAS)/.ready: scripts/tidy/requirements.txt
$(TOOLS)/wheel/.ready: python/requirements/build.txt
$(TOOLS)/workers/.ready: python/requirements/test.txt
$(TOOLS)/docs/.ready: python/requirements/docs.txt
$(VENV)/.ready $(PANDAS)/.ready $(TOOLS)/wheel/.ready $(TOOLS)/workers/.ready $(TOOLS)/docs/.ready:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --requirement $<
	touch $@
