"""Mistakes planted in the engine, each of which the seeded test of whole nodes must find."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from simulated.workshop import ENGINE, Workshop


@dataclass(frozen=True)
class Mistake:
    name: str
    file: str  # in src/engine
    right: str  # stands there once
    wrong: str
    seed: int = 1  # of a program that finds it, as the generator of programs is now
    programs: int = 3000  # within which it must be found in any case
    # Where the engine looks twice: the other file, its text and what replaces it.
    also: tuple[tuple[str, str, str], ...] = ()


MISTAKES = [
    Mistake(
        "a commit that failed leaves no dirty bit",
        "cache_guards.h",
        "if (!stored) cache_.note_dirty(cache_.frame(f), every_writer);",
        "",
        seed=2,
    ),
    Mistake(
        "a region is forgotten when its commit fails",
        "cache_guards.h",
        "cache_.kind().settle(cache_.state(f), cache_.page_size(), stored);",
        "cache_.kind().settle(cache_.state(f), cache_.page_size(), true);",
        seed=2,
    ),
    Mistake(
        "what was fetched covers dirty bytes",
        "cache_fill.h",
        "  Regions gaps;\n  kind().missing(page, page_size(), region, gaps);",
        "  const Regions gaps{region};",
        seed=3,
    ),
    Mistake(
        "a frame has its old tag again",
        "cache.h",
        "tag.fetch_add(1, std::memory_order_release);",
        "tag.fetch_sub(1, std::memory_order_release);",
        seed=15,
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
        "const bool clean = !frame.may_be_dirty();  // or published while it was being closed",
        "const bool clean = true;",
        seed=63,
    ),
    Mistake(
        "a fill keeps what an access past the cache has replaced",
        "cache_fill.h",
        "  keep = keep && shared.direct_writers.load() == 0 && shared.direct_writes.load() == "
        "direct_writes;\n",
        "",
        seed=7896,
        programs=12_000,
        also=(("cache_pages.h", "frame(index).io == FrameIo::filling || missing", "missing"),),
    ),
    Mistake(
        "frames of a file that rested are taken with dirty bytes after its open",
        "cache_rest.h",
        "if (!resting.file.compare_exchange_strong(expected, 0)) continue;",
        "if (resting.file.load() != expected) continue;",
        also=(
            (
                "cache_rest.h",
                "frame.closed() || !close_clean(f))\n      continue;",
                "frame.closed())\n      continue;\n    close_frame(f);",
            ),
        ),
    ),
    Mistake(
        "a write past the cache leaves older bytes dirty",
        "past_cache.h",
        "  if (cache_.any_held(file_, extent)) status = cache_.commit(file_, extent);\n"
        "  if (status.ok()) status = file_.write_past(",
        "  if (status.ok()) status = file_.write_past(",
        seed=2,
    ),
    Mistake(
        "a write past the cache leaves older bytes to readers",
        "past_cache.h",
        "  if (cache_.any_held(file_, extent)) cache_.drop(file_, extent, false);\n",
        "",
        seed=6,
    ),
    Mistake(
        "the end of the file is where storage ends",
        "cache_fill.h",
        "*end = std::max(size, file.written_end());",
        "*end = size;",
        seed=2,
    ),
    Mistake(
        "a commit does not wait for another's",
        "cache_commit.h",
        "if (!wait || later.empty() || !result.ok()) break;",
        "break;",
        seed=6,
    ),
    Mistake(
        "a victim's frame is taken from the page that came there meanwhile",
        "cache_evict.h",
        "!(victim.key == waiting.victim) || ",
        "",
        seed=16,
    ),
    Mistake(
        "a page that came another way gets a second frame",
        "cache_evict.h",
        "        arena_.shard(s).find(waiting.page) != no_frame || !close_clean(waiting.frame))\n",
        "        !close_clean(waiting.frame))\n",
        seed=1199,
    ),
    Mistake(
        "a page that leaves in the background is freed before storage has it",
        "cache_evict.h",
        "  if (frame(index).leaving != 0 && close_clean(index)) release_frame(index);\n",
        "  if (frame(index).leaving == 0) return;\n"
        "  close_frame(index);\n"
        "  release_frame(index);\n",
        seed=5,
    ),
    Mistake(
        "a part that waited for a frame is not written",
        "handle_writes.h",
        "[&] { return write_page(next.part, source, next.at, &next.count, &got); }",
        "[&] { got = Cache<Driver>::Got::resident; return Status::success(); }",
    ),
    Mistake(
        "a dead process's bytes are no longer dirty",
        "cache_repair.h",
        "  if (dirty) note_dirty(f, every_writer);\n",
        "",
        seed=3,
    ),
    Mistake(
        "a truncation leaves the last page's bytes",
        "cache_commit.h",
        "    kind().truncate(state(f), page_size(), bytes - page_start);\n",
        "",
        seed=68,
    ),
    Mistake(
        "a frame is evicted while storage is read for it",
        "cache.h",
        "return frame(index).io == FrameIo::idle;",
        "return frame(index).io != FrameIo::committing;",
        seed=6,
    ),
    Mistake(
        "a repair frees a frame that a handle still uses",
        "cache_repair.h",
        "  if (f.closed()) driver_.drain(index);  // the dead process may not have waited\n",
        "",
        seed=10772,
        programs=15_000,
    ),
    Mistake(
        "a page whose commit was repaired meanwhile counts as stored",
        "cache_guards.h",
        "      if (cache_.frame(f).io == FrameIo::recommitting) again.push_back(f);\n",
        "",
        seed=13911,
        programs=40_000,
    ),
    Mistake(
        "a list goes to the file of a frame that had nothing to commit",
        "cache_guards.h",
        "if (frames_.empty()) target_ =",
        "if (!target_) target_ =",
        seed=252,
        also=(
            (
                "cache_guards.h",
                "    plan_.clear();\n  }",
                "    plan_.clear();\n    target_ = {};\n  }",
            ),
        ),
    ),
    Mistake(
        "guests count as stored though their owner did not take them",
        "hand_over.h",
        "guests->settle(node, taken);",
        "guests->settle(node, true);",
        seed=2,
    ),
    Mistake(
        "an owner answers for bytes that it could not store",
        "hand_over.h",
        "nodes.answer(stored.ok(), ",
        "nodes.answer(true, ",
        seed=2,
    ),
    Mistake(
        "guests that no owner took stay dirty",
        "hand_over.h",
        "return within_memory([this] { return cache_.commit(file_, {0, INT64_MAX}); });",
        "return {};",
        seed=2,
    ),
    Mistake(
        "what came from other nodes is not stored",
        "cache_guests.h",
        "list.write(file, received.first(runs), messages);",
        "list.write(file, received.first(0), messages);",
        seed=2,
    ),
    Mistake(
        "a node claims guests that it owns itself",
        "cache_guests.h",
        "      if (owner == self) continue;\n",
        "",
        seed=2,
    ),
    Mistake(
        "a read counts a page again that it has looked at before",
        "cache_fill.h",
        "at >= counted_end || skipped != uncounted.end()",
        "at != wanted.offset || at >= counted_end",
        seed=214,
    ),
    Mistake(
        "a touched page may be written without a lock, whatever its kind",
        "handle_writes.h",
        "evictions_, &ignored, got);",
        "evictions_, &translation_, got);",
        seed=1011,
    ),
    Mistake(
        "an access in rounds is the last one to its page",
        "cache_handle.h",
        "    if (!handle_.told_) handle_.go_to_page(page_);\n",
        "",
    ),
    Mistake(
        "the policy is told of an access in rounds",
        "cache_handle.h",
        "  return same || !told_;",
        "  return same;",
    ),
    Mistake(
        "the policy is told of the later pages of a read in rounds",
        "handle_reads.h",
        "told_ ? extent.offset + (same_page ? 1 : 0) : extent.end();",
        "extent.offset + (same_page ? 1 : 0);",
    ),
    Mistake(
        "a write keeps the victims it has claimed while it waits for others",
        "cache_handle.h",
        "write_waiting(source);\n      if (!status.ok()) break;\n      if (told_) ++",
        "{};\n      if (told_) ++",
        seed=2125,
    ),
]


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("workshop"))


def test_the_sound_engine_passes(workshop: Workshop, tmp_path: Path) -> None:
    program = tmp_path / "nodes"
    workshop.build({}, program)
    assert workshop.run(program, 300).passed


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_a_mistake_is_found(mistake: Mistake, workshop: Workshop, tmp_path: Path) -> None:
    planted: dict[str, str] = {}
    for file, right, wrong in ((mistake.file, mistake.right, mistake.wrong), *mistake.also):
        text = planted.get(file) or (ENGINE / file).read_text()
        assert text.count(right) == 1, f"{file} has changed: {right}"
        planted[file] = text.replace(right, wrong)
    program = tmp_path / "nodes"
    workshop.build(planted, program, "-O0")
    if not workshop.run(program, 1, first=mistake.seed).passed:
        return
    workshop.build(planted, program)
    verdict = workshop.run(program, mistake.programs)
    assert not verdict.passed
    print("the table's seed is no longer the one:", verdict.printed)
