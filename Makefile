# One word a job; each works from a fresh clone and is quick the second time.
#
#   make demo [SPEED=60] [STORY=1|day|idle|take-back|queue]   the whole bot on this machine, with a local Slack and a local vCenter
#   make check                       format, lint, types, the import law
#   make test [ARGS="-k lease"]      check, then the tests
#   make test-long                   the tests that take minutes
#   make soak [HISTORIES=2000]       those, and all that take an hour; the last line is the count of histories and violations
#   make bench                       commands a second and their slowest, long lines, a report, verdicts, readings, moves and replays, against floors; ends with 1 if a target is missed
#   make tools                       what some long tests want and is large: TensorFlow, and Debian's Python 3.9 and 3.13 (as root)
#   make picture                     the README's picture of the demo's page, taken anew (needs Chromium)
#
# PYTHON= chooses the interpreter (3.11 or newer), JOBS= how many tests run at once.

BIN := .venv/bin
READY := .venv/.ready
JOBS ?= 4
ARGS ?=
SPEED ?=
STORY ?=
AGENT_SECONDS ?= 120
# How many random histories of the whole bot `test-long` and `soak` play.
HISTORIES ?= 2000
export HISTORIES

# Compiled once and not in each of the many processes of a test, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

# The newest one that really runs: a name on the PATH may be a shim for a version that is not installed, and a system's
# Python may lack what makes an environment.
CAN_SERVE := import sys, ensurepip, sqlite3, ssl, venv; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3.14 python3.13 python3.12 python3.11 python3; do \
	$$name -c '$(CAN_SERVE)' >/dev/null 2>&1 && echo $$name && break; done)

.PHONY: help setup demo check test test-long soak tools bench picture clean
.DEFAULT_GOAL := help

help:
	@sed -n 's/^#   \(make.*\)/\1/p' Makefile

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "needs Python 3.11 or newer with venv: install one, or name it with PYTHON=" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "making .venv with $(PYTHON)"; "$(PYTHON)" -m venv --clear .venv; }
	@echo "installing what constraints.txt pins"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,guest,postgres]'
	@touch $@

demo: $(READY)
	@$(BIN)/gpubot demo $(if $(SPEED),--speed $(SPEED)) $(if $(STORY),--story $(STORY))

check: $(READY)
	@$(BIN)/ruff format --check --quiet . || { echo "not formatted: $(BIN)/ruff format ." >&2; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

# A file's tests stay on one worker, so that they share the servers that its fixtures start; tests/conftest.py says which file comes first.
test: check
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder $(ARGS)

# How long tests are given out is in tests/turns.py.
test-long: $(READY)
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder -m long --durations=10 $(ARGS)

soak: $(READY)
	@$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --no-loadscope-reorder -m "long or soak" --durations=10 $(ARGS)

# Each in a folder of .tools; what is there already stays.
tools:
	@PYTHON="$(PYTHON)" .ci/tensorflow .tools/tensorflow
	@.ci/debian-python bullseye 3.9 .tools/python3.9
	@.ci/debian-python trixie 3.13 .tools/python3.13

# The targets are for a machine that does nothing else meanwhile; the acks are for information.
bench: $(READY)
	@$(BIN)/python -m bench.acks
	@$(BIN)/python -m bench.verdicts
	@$(BIN)/python -m bench.queue
	@$(BIN)/python -m bench.report
	@$(BIN)/python -m bench.replay
	@$(BIN)/python -m bench.intake
	@$(BIN)/python -m bench.moves
	@$(BIN)/python -m bench.commands
	@$(BIN)/python -m bench.agent $(AGENT_SECONDS)

picture: $(READY)
	@$(BIN)/python -m tests.story.picture docs/page.png

clean:
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis .demo build *.egg-info
