"""Mistakes planted in the protocol of owners (src/agent, and headers that it uses), each of which
the random programs of whole jobs must find."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SRC = ROOT / "src"
AGENT = SRC / "agent"
BUILT = ROOT / "build" / "gcc"
COMPILER = os.environ.get("CXX", "clang++")  # sooner done than g++
SECONDS = 300


TOGETHER = "Agents.LoseNoByte"
ALONE = "Agents.LoseNoByteOfRanksThatOpenTheFileAlone"
GROUPS = "Agents.LoseNoByteOfGroupsThatOpenTheFile"


@dataclass(frozen=True)
class Mistake:
    name: str
    file: str  # in src/agent, or a header by its path in src
    right: str  # stands there once
    wrong: str
    seed: int = 0  # of a program that finds it, as the generator of programs is now
    programs: int = 3000  # within which it must be found in any case
    opens: str = TOGETHER  # the test whose programs these are


MISTAKES = [
    Mistake(
        "a rank puts bytes into a cache before it has told the owners",
        "job_file.cpp",
        "  if (here_.held() != Held::told) {\n",
        "  if (false) {\n",
        seed=26,
    ),
    Mistake(
        "an agent opens a file and its node does not know",
        "file_server.cpp",
        "  (void)file_->note_held(runtime::Held::something);\n",
        "",
        seed=26,
    ),
    Mistake(
        "a long write does not look again whether caches hold bytes",
        "job_file.cpp",
        "return asks || others_may_hold() ? owners_.ask",
        "return asks ? owners_.ask",
        seed=68,
    ),
    Mistake(
        "a short access in this node's own part is not announced",
        "job_file.cpp",
        "  return served_here(access) ? tell_owners() : Status();\n",
        "  return {};\n",
        seed=68,
    ),
    Mistake(
        "a short access in another node's part is not announced",
        "job_file.cpp",
        "    if (const Status told = file.told_ ? Status() : file.tell_owners(); !told.ok()) "
        "return told;\n",
        "",
        seed=26,
    ),
    Mistake(
        "a long access does not ask the owners to hand over what they hold",
        "job_file.cpp",
        "  if (asks) status = owners_.ask_owners_of(extent, writes ? Ask::settle : Ask::commit, "
        "writes);\n",
        "",
        seed=1,
    ),
    Mistake(
        "owners keep what a read beside a long write has fetched",
        "job_file.cpp",
        "return asks || others_may_hold() ? owners_.ask_owners_of(extent, Ask::settle, true) : "
        "status;\n",
        "return status;\n",
        seed=8,
    ),
    Mistake(
        "a node keeps old bytes when it becomes their owner",
        "job_file.cpp",
        "here_.commit_for_owners(domains(), next_.parts.domains, owners_.self())",
        "here_.commit_for_owners(next_.parts.domains, next_.parts.domains, owners_.self())",
        seed=1403,
    ),
    Mistake(
        "a node does not commit before the owners get other parts",
        "job_file.cpp",
        "[&] { return here_.commit_for_owners(domains(), next_.parts.domains, owners_.self()); }",
        "[] { return Status(); }",
        seed=15,
    ),
    Mistake(
        "a rank goes on by a part that its node does not own any more",
        "job_file.cpp",
        "  latest_here_ = {0, 0};\n  here_.see_other_nodes();",
        "  here_.see_other_nodes();",
        seed=19,
    ),
    Mistake(
        "a long write claims no chunk",
        "file_owners.cpp",
        "const Status learnt = by_first_touch() ? learn(range, claim) : Status();",
        "const Status learnt = by_first_touch() ? learn(range, false) : Status();",
        seed=2,
    ),
    Mistake(
        "a write claims no chunk",
        "job_file.cpp",
        "    return file.owners_.learn(run, true);\n",
        "    return file.owners_.learn(run, false);\n",
        seed=36,
    ),
    Mistake(
        "a home serves reads of a chunk that another node has claimed",
        "file_server.cpp",
        "      if (owner != Owners::none && owner != self_) return false;\n",
        "",
        seed=32,
    ),
    Mistake(
        "a later claim takes a chunk from its owner",
        "claims.cpp",
        "owners_.try_emplace(chunk, node).first->second",
        "owners_.insert_or_assign(chunk, node).first->second",
        seed=14,
    ),
    Mistake(
        "a home's own ranks believe that nobody owns a chunk",
        "file_owners.cpp",
        "return home == self_ ? domains_.owners() : home;",
        "return home;",
        seed=2,
    ),
    Mistake(
        "a rank takes a chunk that nobody owns for the home's",
        "file_owners.cpp",
        "    if (owner == Owners::none) continue;\n",
        "    if (owner == Owners::none) owner = home;\n",
        seed=80,
    ),
    Mistake(
        "a rank goes on by chunks that nodes claimed before they got other parts",
        "file_owners.cpp",
        "  domains_ = next.domains;\n",
        "",
        seed=13,
    ),
    Mistake(
        "an agent goes on by parts that nodes do not own any more",
        "file_owners.cpp",
        "  (void)within_memory([this] { return close(false); });\n",
        "",
        seed=36,
    ),
    Mistake(
        "others' bytes go past the caches though nodes' clients keep bytes",
        "file_owners.cpp",
        "    return owner.value_or(self_) == self_;\n",
        "    return true;\n",
        seed=11,
    ),
    Mistake(
        "a truncation concerns this node alone",
        "job_file.cpp",
        "  (void)within_memory([&] { return ask_others(Ask::truncate, bytes); });\n",
        "",
        seed=1,
    ),
    Mistake(
        "an owner truncates to another size",
        "file_server.cpp",
        "file_->truncate_cache(asked.value);",
        "file_->truncate_cache(asked.value + 1);",
        seed=114,
    ),
    Mistake(
        "a commit concerns this node alone",
        "job_file.cpp",
        "ask_others(forget ? Ask::settle : Ask::commit)",
        "Status()",
        seed=1,
    ),
    Mistake(
        "the size is what this node knows",
        "job_file.cpp",
        "within_memory([&] { return ask_others(Ask::size, 0, bytes); }) : status",
        "Status() : status",
        seed=3,
    ),
    Mistake(
        "a read ends where an owner knows no more of the file",
        "job_file.cpp",
        "    if (below > got) zero(memory + (at + got), below - got);\n    at += below;\n",
        "    at += got;\n",
        seed=6,
    ),
    Mistake(
        "a hole is not filled with zeros",
        "job_file.cpp",
        "    if (below > got) zero(memory + (at + got), below - got);\n",
        "",
        seed=6,
    ),
    Mistake(
        "what an owner holds beyond a long read's end is not looked for",
        "job_file.cpp",
        "  if (*moved == extent.length) return status;\n",
        "  return status;\n",
        seed=31,
    ),
    Mistake(
        "a read that ends early is not carried out once more",
        "job_file.cpp",
        "        return here_.read(offset, memory, length, moved);\n      }();\n"
        "      if (!status.ok() || is_whole(*moved, length)) return status;\n",
        "        return here_.read(offset, memory, length, moved);\n      }();\n"
        "      return status;\n",
        seed=64,
    ),
    Mistake(
        "a chunk's end is not the end of what an owner is asked for",
        "engine/owner_windows.h",
        "      piece.length = std::min(piece.length, file.same_owner_at(piece.offset).end() - "
        "piece.offset);\n",
        "",
        seed=1,
    ),
    Mistake(
        "bytes between two chunks of an owner are taken for its own",
        "job_file.cpp",
        "  return offset_of(access.position + access.bytes - 1) < latest_here_.end();\n",
        "  return true;\n",
        seed=1,
    ),
    Mistake(
        "a node keeps copies of other owners' bytes though ranks write",
        "job_file.cpp",
        "return owners_.self() != Owners::none && !here_.writable();",
        "return owners_.self() != Owners::none;",
        seed=0,
    ),
    Mistake(
        "a node that owns nothing keeps copies, though no writer tells it",
        "job_file.cpp",
        "return owners_.self() != Owners::none && !here_.writable();",
        "return !here_.writable();",
        seed=1402,
    ),
    Mistake(
        "an agent drops what a rank wrote when the rank closes the file",
        "file_server.cpp",
        "file_ == nullptr ? Status() : file_->close(discard);",
        "file_ == nullptr ? Status() : file_->close(true);",
        seed=1,
    ),
    Mistake(
        "the directory leaves nodes alone though one of them writes",
        "directory.cpp",
        "enrolment.known || (entry.written && (entry.owners || answer.others))",
        "enrolment.known || (entry.written && entry.owners)",
        seed=1,
        opens=ALONE,
    ),
    Mistake(
        "the directory forgets that somebody can write",
        "directory.cpp",
        "  entry.written = entry.written || enrolment.writes;\n",
        "  entry.written = enrolment.writes;\n",
        seed=2,
        opens=ALONE,
    ),
    Mistake(
        "the directory gives each open other owners",
        "directory.cpp",
        "  if (!entry.owners) entry.owners = owners_for(entry, enrolment);\n",
        "  entry.owners = owners_for(entry, enrolment);\n",
        seed=0,
        opens=ALONE,
    ),
    Mistake(
        "the directory forgets a file that others have open",
        "directory.cpp",
        "  if (openers.empty()) files_.erase(known);\n",
        "  files_.erase(known);\n",
        seed=9,
        opens=ALONE,
    ),
    Mistake(
        "a node that has the file open twice leaves the directory at the first close",
        "directory.cpp",
        "--mine->opens == 0",
        "true",
        seed=153,
        opens=ALONE,
    ),
    Mistake(
        "the first open that can write leaves copies of the bytes",
        "directory.cpp",
        "  answer.ends_copies = enrolment.writes && entry.copies;\n",
        "",
        seed=96,
        opens=GROUPS,
    ),
    Mistake(
        "a reader does not learn that somebody can write",
        "directory.cpp",
        "  answer.written = entry.written;\n",
        "",
        seed=819,
        opens=GROUPS,
    ),
    Mistake(
        "a question goes to another file of the rank",
        "remote_file.cpp",
        "  frame.file = file_;\n",
        "  frame.file = 1;\n",
    ),
]


def failure(program: Path, test: str, variables: dict[str, str], folder: Path) -> str:
    """What a run of random programs prints that fails; nothing if it passes."""
    result = subprocess.run(
        [program, "--gtest_brief=1", f"--gtest_filter={test}"],
        env=os.environ | variables | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return result.stdout if result.returncode != 0 else ""


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name.replace(" ", "-"))
def test_a_mistake_is_found(mistake: Mistake, tmp_path: Path) -> None:
    original = AGENT / mistake.file if "/" not in mistake.file else SRC / mistake.file
    text = original.read_text()
    assert text.count(mistake.right) == 1, f"{mistake.file} has changed: {mistake.right}"
    changed = tmp_path / mistake.file
    changed.parent.mkdir(exist_ok=True)
    changed.write_text(text.replace(mistake.right, mistake.wrong))
    sources = (
        changed if path.name == mistake.file else path for path in sorted(AGENT.glob("*.cpp"))
    )
    together = tmp_path / "agent.cpp"
    together.write_text("".join(f'#include "{path}"\n' for path in sources))
    program = tmp_path / "agents"
    # In front of the library, so that the changed agent is linked in the sound one's place.
    objects = sorted((BUILT / "tests" / "CMakeFiles" / "forebay_agents.dir" / "agents").glob("*.o"))
    libraries = [BUILT / "src" / f"libforebay_{name}.a" for name in ("runtime", "core")]
    headers = [f"-I{tmp_path}", f"-I{SRC}"]  # a changed one first
    command = [COMPILER, "-std=c++20", "-O0", *headers, together, *objects, *libraries]
    libraries_of_system = ["-lgtest", "-lzstd", "-lpthread"]
    link = [*command, "-Wl,-z,muldefs", *libraries_of_system, "-o", program]
    subprocess.run(link, check=True)
    found = failure(program, mistake.opens, {"FOREBAY_SEED": str(mistake.seed)}, tmp_path)
    if not found:
        found = failure(program, mistake.opens, {"FOREBAY_SEEDS": str(mistake.programs)}, tmp_path)
        print("the table's seed is no longer the one:", found)
    assert found, mistake.name
