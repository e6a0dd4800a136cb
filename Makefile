# The commands of daily work. `make help` lists them.
PYTHON ?= python3

.PHONY: help test check long clean

help:
	@echo "make check   fast tests of what is built here, about a minute"
	@echo "make test    install what the tests need, build everything, run all tests"
	@echo "make long    the tests that take hours"
	@echo "make clean   remove build trees and virtual environments"

check:
	@$(PYTHON) tests/run.py check

test:
	@$(PYTHON) tests/run.py test

long:
	@$(PYTHON) tests/run.py long

clean:
	rm -rf build build-* .venv*

-include bench.mk
