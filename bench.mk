# Included by the Makefile: the demonstration and the measurements.

VENV ?= .venv
PYTHON ?= python3

# A virtual environment with Forebay and the MPICH wheel; made again when a source changes.
$(VENV)/.forebay: pyproject.toml $(shell git ls-files src include python cmake CMakeLists.txt 2>/dev/null)
	@echo "Forebay is compiled and installed into $(VENV), with an MPI to try it with: some minutes, once."
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --upgrade pip
	$(VENV)/bin/pip install --quiet '.[mpich]'
	touch $@

.PHONY: demo bench figures

# Shows the effect of Forebay on this machine. Needs neither root nor an installed MPI.
demo: $(VENV)/.forebay
	@echo "Four ranks write and read files here, plain and through Forebay in turn: about half a minute."
	$(VENV)/bin/forebay demo

# Writes docs/results.md from runs on this machine; as root also on a GlusterFS volume.
bench: $(VENV)/.forebay
	$(VENV)/bin/python bench/results.py

# Draws docs/figures anew: make figures LOG=a-log-of-384-ranks.darshan [DIR=on-a-disk]
figures: $(VENV)/.forebay
	$(VENV)/bin/pip install --quiet '.[darshan]'
	$(VENV)/bin/python bench/figures.py $(LOG) $(DIR)
