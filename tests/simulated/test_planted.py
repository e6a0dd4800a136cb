"""Mistakes planted in the engine, each of which the seeded test of whole nodes must find."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path("tests/simulated")
SOURCES = [FOLDER / name for name in ("byte_model.cpp", "program.cpp", "run.cpp", "nodes_test.cpp")]
# Those of which the templates of the engine are instantiated.
INSTANTIATING = [FOLDER / "run.cpp", Path("src/sim/virtual_node.cpp")]
CORE = ["extent", "arena", "page", "policy", "pattern", "predict", "engine"]
COMPILER = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-O1"]


@dataclass(frozen=True)
class Mistake:
    name: str
    file: str  # in src/engine
    right: str  # stands there once
    wrong: str
    programs: int = 3000  # within which it must be found


MISTAKES = [
    Mistake(
        "a commit that failed leaves no dirty bit",
        "cache_guards.h",
        "if (!stored) cache_.note_dirty(cache_.frame(f));",
        "",
    ),
    Mistake(
        "a region is forgotten when its commit fails",
        "cache_guards.h",
        "cache_.kind().settle(cache_.state(f), cache_.page_size(), stored);",
        "cache_.kind().settle(cache_.state(f), cache_.page_size(), true);",
    ),
    Mistake(
        "what was fetched covers dirty bytes",
        "cache_fill.h",
        "  Regions gaps;\n  kind().missing(page, page_size(), region, gaps);",
        "  const Regions gaps{region};",
    ),
    Mistake(
        "a frame has its old tag again",
        "cache.h",
        "tag.fetch_add(1, std::memory_order_release);",
        "tag.fetch_sub(1, std::memory_order_release);",
    ),
    Mistake(
        "a frame is closed while a handle uses it",
        "cache.h",
        "  driver_.drain(index);\n",
        "",
    ),
    Mistake(
        "a victim's last bytes are not looked for",
        "cache_pages.h",
        "must_commit = dirty();  // published while it was being closed",
        "",
    ),
    Mistake(
        "a fill keeps what an access past the cache has replaced",
        "cache_fill.h",
        "  keep = keep && shared.direct_writers.load() == 0 && shared.direct_writes.load() == "
        "direct_writes;\n",
        "",
    ),
    Mistake(
        "a write past the cache leaves older bytes dirty",
        "past_cache.h",
        "  if (cache_.any_held(file_, extent)) status = cache_.commit(file_, extent);\n"
        "  if (status.ok()) status = file_.write_past(",
        "  if (status.ok()) status = file_.write_past(",
    ),
    Mistake(
        "a write past the cache leaves older bytes to readers",
        "past_cache.h",
        "  if (cache_.any_held(file_, extent)) cache_.drop(file_, extent, false);\n",
        "",
    ),
    Mistake(
        "the end of the file is where storage ends",
        "cache_fill.h",
        "*end = std::max(size, file.written_end());",
        "*end = size;",
    ),
    Mistake(
        "a commit does not wait for another's",
        "cache_commit.h",
        "if (!wait || later.empty() || !result.ok()) break;",
        "break;",
    ),
    Mistake(
        "a dead process's bytes are no longer dirty",
        "cache_repair.h",
        "  if (dirty) note_dirty(f);\n",
        "",
    ),
    Mistake(
        "a truncation leaves the last page's bytes",
        "cache_commit.h",
        "    kind().truncate(state(f), page_size(), bytes - page_start);\n",
        "",
    ),
    Mistake(
        "a frame is evicted while storage is read for it",
        "cache.h",
        "return frame(index).io == FrameIo::idle;",
        "return frame(index).io != FrameIo::committing;",
    ),
    Mistake(
        "a repair frees a frame that a handle still uses",
        "cache_repair.h",
        "  if (f.closed()) driver_.drain(index);  // the dead process may not have waited\n",
        "",
        programs=40000,
    ),
    Mistake(
        "a page whose commit was repaired meanwhile counts as stored",
        "cache_guards.h",
        "      if (cache_.frame(f).io == FrameIo::recommitting) again.push_back(f);\n",
        "",
        programs=40000,
    ),
]


def compile_file(source: Path, root: Path, target: Path) -> None:
    command = [COMPILER, *FLAGS, f"-I{root / 'src'}", f"-I{root / 'tests'}", "-c", source]
    subprocess.run([*command, "-o", target], check=True)


@pytest.fixture(scope="session")
def sound_objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Objects of all that the mistakes do not touch."""
    folder = tmp_path_factory.mktemp("objects")
    sources = [path for part in CORE for path in sorted((ROOT / "src" / part).glob("*.cpp"))]
    sources += [ROOT / "src/sim/fibers.cpp"]
    sources += [ROOT / source for source in SOURCES if source not in INSTANTIATING]
    for source in sources:
        compile_file(source, ROOT, folder / f"{source.parent.name}_{source.stem}.o")
    return folder


def run_with(mistake: Mistake | None, objects: Path, folder: Path, programs: int) -> str:
    """What the seeded test prints of the engine with this mistake."""
    shutil.copytree(ROOT / "src", folder / "src")
    if mistake is not None:
        path = folder / "src" / "engine" / mistake.file
        text = path.read_text()
        assert text.count(mistake.right) == 1, f"{path.name} has changed: {mistake.right}"
        path.write_text(text.replace(mistake.right, mistake.wrong))
    mine = []
    for source in INSTANTIATING:
        origin = folder / source if source.parts[0] == "src" else ROOT / source
        mine.append(folder / f"{source.stem}.o")
        command = [COMPILER, *FLAGS, f"-I{folder / 'src'}", f"-I{ROOT / 'tests'}", "-c", origin]
        subprocess.run([*command, "-o", mine[-1]], check=True)
    program = folder / "nodes"
    libraries = ["-lgtest", "-lgtest_main", "-lpthread"]
    command = [COMPILER, *mine, *sorted(objects.glob("*.o")), *libraries, "-o", program]
    subprocess.run(command, check=True)
    environment = os.environ | {"FOREBAY_SEEDS": str(programs), "FOREBAY_SHRINKS": "0"}
    result = subprocess.run(
        [program, "--gtest_filter=Nodes.LoseNoByte"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.stdout + result.stderr


def test_the_sound_engine_passes(sound_objects: Path, tmp_path: Path) -> None:
    assert "FOREBAY_SEED" not in run_with(None, sound_objects, tmp_path, 3000)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_a_mistake_is_found(mistake: Mistake, sound_objects: Path, tmp_path: Path) -> None:
    printed = run_with(mistake, sound_objects, tmp_path, mistake.programs)
    assert "FOREBAY_SEED" in printed or "Segmentation" in printed, printed
