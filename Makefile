# The commands of this project. `make test` and `make lint` are what a landing must pass.

.PHONY: help fmt lint test bench bench-peer deny clean

PYTHON ?= python3
TOOLS := .tools
VENV := $(TOOLS)/venv

help: ## List the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

fmt: ## Format all code
	cargo fmt --all

lint: ## Check format, lints, documentation, and dependencies
	cargo fmt --all -- --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	$(MAKE) deny

deny: $(TOOLS)/bin/cargo-deny ## Check licences, bans and sources of dependencies
	cargo fetch --locked
	$(TOOLS)/bin/cargo-deny --offline --locked check licenses bans sources

test: ## Run all tests, those of the store on a PostgreSQL of their own too
	bash scripts/postgres.sh run cargo test --workspace --locked

bench: ## Measure LinUCB and every mechanism
	cargo bench --workspace --locked

bench-peer: $(VENV)/.ready ## Measure beside numpy in one run
	cargo build --release --locked
	$(VENV)/bin/python bench/peer_numpy.py --truthfed $${CARGO_TARGET_DIR:-target}/release/truthfed

clean: ## Remove everything that was built
	cargo clean
	rm -rf $(TOOLS) out

$(TOOLS)/bin/cargo-deny:
	cargo install cargo-deny --version 0.20.2 --locked --root $(TOOLS)

$(VENV)/.ready: bench/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement bench/requirements.txt
	touch $@
