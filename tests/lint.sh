#!/usr/bin/env bash
# Checks format, style and types without changing a file: lint.sh clang-format | ruff BIN | mypy BIN
# (BIN: the folder of ruff and mypy). `lint.sh fix BIN` formats all sources instead. mypy reads the
# types of the compiled module where `build.py gcc` has put them.
set -eu
cd "$(dirname "$0")/.."
bin=${2:-.venv-mpich/bin}

c_sources() {
  git ls-files '*.c' '*.h' '*.cpp' '*.hpp'
}

case ${1:-} in
clang-format)
  c_sources | xargs --no-run-if-empty clang-format --dry-run --Werror
  ;;
ruff)
  "$bin/ruff" check .
  "$bin/ruff" format --check .
  ;;
mypy)
  "$bin/mypy" --strict python build/gcc/python/forebay/_core.pyi tests/run.py tests/build.py \
    tests/environment.py tests/harness docs/layers.py
  ;;
fix)
  c_sources | xargs --no-run-if-empty clang-format -i
  "$bin/ruff" format .
  "$bin/ruff" check --fix .
  ;;
*)
  sed -n '2,4s/^# //p' "$0"
  exit 2
  ;;
esac
