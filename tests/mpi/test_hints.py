"""Wrong options are reported once per job. Hints take effect, also on an open file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness import forebay, mpi

FOLDER = Path(__file__).parent / "hints"
RANKS = 3
TESTED = (mpi.WHEELS[0], mpi.WHEELS[2])

NO_POLCY = "there is no option 'forebay_polcy'; it is ignored; did you mean forebay_policy?"
NO_PAGE = (
    "forebay_page_size=3000 is not accepted; 64KiB is used; "
    "give 512 to 16MiB in steps of 64, for example 64KiB"
)
POLICIES = "give lru, fifo, lfu, arc, sieve, s3fifo, fcf, informed"


def hints(*words: str) -> list[str]:
    """Arguments of hinting.c from words "WHEN RANKS KEY=VALUE"."""
    return [part for word in words for part in word.split(" ", 2)]


def run(
    installation: mpi.Mpi,
    folder: Path,
    *arguments: str,
    settings: Mapping[str, str] | None = None,
    per_rank: Mapping[int, Mapping[str, str]] | None = None,
    how: str = "together",
) -> forebay.Run:
    """hinting.c with these hints on three ranks, some of which have variables of their own."""
    program = mpi.compile_program(installation, FOLDER / "hinting.c")
    command = [str(program), "data.bin", how, *hints(*arguments)]
    for rank, variables in (per_rank or {}).items():
        words = " ".join(f"{name}={value}" for name, value in variables.items())
        own = '[ "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}" = ' + str(rank)
        command = ["sh", "-c", f'{own} ] && export {words}; exec "$0" "$@"', *command]
    done = forebay.launch(installation, RANKS, command, folder / "run", settings or {})
    assert done.outcome.code == 0, str(done.outcome)
    return done


def said(done: forebay.Run) -> list[str]:
    """Forebay's lines on standard error, without "forebay: "."""
    lines = done.outcome.errors.splitlines()
    return sorted(line.removeprefix("forebay: ") for line in lines if line.startswith("forebay: "))


def shown(done: forebay.Run) -> dict[str, str]:
    """The hints of MPI_File_get_info."""
    return dict(line.split("=", 1) for line in done.outcome.output.splitlines() if "=" in line)


def counted(done: forebay.Run) -> Any:
    assert done.statistics is not None
    return done.statistics["total"]


@pytest.mark.parametrize("installation", TESTED, ids=lambda m: m.name)
def test_what_is_right_is_not_commented_on(installation: mpi.Mpi, tmp_path: Path) -> None:
    done = run(
        installation,
        tmp_path,
        "open all forebay_policy=arc",
        "info all forebay_read_ahead=0",
        "view all forebay_policy=arc",
        settings={"FOREBAY_CACHE_SIZE": "1MiB", "FOREBAY_MPI": "", "FOREBAY_ROOT": "/opt"},
    )
    assert said(done) == []
    assert shown(done)["forebay_policy"] == "arc"
    assert shown(done)["forebay_read_ahead"] == "0"
    assert counted(done)["write_calls"] == RANKS * 400


@pytest.mark.parametrize("installation", TESTED, ids=lambda m: m.name)
def test_mistakes_of_the_environment(installation: mpi.Mpi, tmp_path: Path) -> None:
    wrong = {
        "FOREBAY_POLCY": "lru",
        "FOREBAY_POLICY": "xx",
        "FOREBAY_PAGE_SIZE": "3000",
        "FOREBAY_CACHE_SIZE": "8KiB",
        "FOREBAY_CONFIG": "cache-size=1MiB",
    }
    done = run(installation, tmp_path, settings=wrong)
    assert said(done) == [
        "FOREBAY_CACHE_SIZE=8KiB holds no page of FOREBAY_PAGE_SIZE=64KiB; pages of 8KiB are used; "
        "give a larger FOREBAY_CACHE_SIZE or a smaller FOREBAY_PAGE_SIZE",
        "FOREBAY_CONFIG: there is no option 'cache-size'; it is ignored; did you mean cache_size?",
        "FOREBAY_PAGE_SIZE=3000 is not accepted; 64KiB is used; "
        "give 512 to 16MiB in steps of 64, for example 64KiB",
        f"FOREBAY_POLICY=xx is not accepted; lru is used; {POLICIES}",
        "there is no option 'FOREBAY_POLCY'; it is ignored; did you mean FOREBAY_POLICY?",
    ]
    assert shown(done)["forebay_page_size"] == "8KiB"
    assert counted(done)["write_calls"] == RANKS * 400  # the files are cached nevertheless


@pytest.mark.parametrize("installation", TESTED, ids=lambda m: m.name)
def test_a_mistake_of_one_ranks_environment(installation: mpi.Mpi, tmp_path: Path) -> None:
    done = run(installation, tmp_path, per_rank={2: {"FOREBAY_POLICY": "arcc"}})
    meant = f"did you mean arc? {POLICIES}"
    assert said(done) == [f"FOREBAY_POLICY=arcc is not accepted; lru is used; {meant}"]


@pytest.mark.parametrize("ranks", ["all", "0", "2"])
@pytest.mark.parametrize("when", ["open", "info", "view"])
@pytest.mark.parametrize("installation", TESTED, ids=lambda m: m.name)
def test_mistakes_in_hints(installation: mpi.Mpi, when: str, ranks: str, tmp_path: Path) -> None:
    words = [f"{when} {ranks} {hint}" for hint in ("forebay_polcy=lru", "forebay_page_size=3000")]
    done = run(installation, tmp_path, *words)
    assert said(done) == [f"hints of data.bin: {NO_PAGE}", f"hints of data.bin: {NO_POLCY}"]


def test_ranks_with_different_mistakes(tmp_path: Path) -> None:
    words = ["open 1 forebay_polcy=lru", "open 2 forebay_page_size=3000", "info 1 forebay_polcy=x"]
    done = run(mpi.WHEELS[0], tmp_path, *words)
    assert said(done) == [f"hints of data.bin: {NO_PAGE}", f"hints of data.bin: {NO_POLCY}"]


@pytest.mark.parametrize("installation", TESTED, ids=lambda m: m.name)
def test_files_opened_apart_say_it_once(installation: mpi.Mpi, tmp_path: Path) -> None:
    words = ["open all forebay_polcy=lru", "view all forebay_page_size=3000"]
    # Set like `forebay run` sets it.
    settings = {"FOREBAY_RUN_DIR": str(tmp_path)}
    lines = said(run(installation, tmp_path, *words, settings=settings, how="apart"))
    assert [line.split(": ", 1)[1] for line in lines] == [NO_PAGE, NO_POLCY]


def test_ranks_on_several_nodes_say_it_once(tmp_path: Path) -> None:
    nodes = {rank: {"FOREBAY_NODE": f"node-{rank}"} for rank in range(RANKS)}
    done = run(
        mpi.WHEELS[0],
        tmp_path,
        "open all forebay_polcy=lru",
        settings={"FOREBAY_POLICY": "xx"},
        per_rank=nodes,
    )
    assert said(done) == [
        f"FOREBAY_POLICY=xx is not accepted; lru is used; {POLICIES}",
        f"hints of data.bin: {NO_POLCY}",
    ]


@pytest.mark.parametrize("when", ["info", "view"])
@pytest.mark.parametrize("installation", TESTED, ids=lambda m: m.name)
def test_hints_change_an_open_file(installation: mpi.Mpi, when: str, tmp_path: Path) -> None:
    changes = ["bypass=1", "write_behind=false", "dirty_bound=0.25", "read_ahead=0"]
    changes += ["commit_size=8KiB", "predictor=sequential", "step_aside=never"]
    done = run(installation, tmp_path, *(f"{when} all forebay_{change}" for change in changes))
    assert said(done) == []
    assert {f"forebay_{change}" for change in changes} <= {"=".join(h) for h in shown(done).items()}
    assert counted(done)["bypass_calls"] == RANKS * 400  # the bypass begins at one byte


def test_an_open_file_can_be_left_to_storage(tmp_path: Path) -> None:
    done = run(mpi.WHEELS[0], tmp_path, "info all forebay_step_aside=always")
    assert said(done) == []
    assert counted(done)["aside_calls"] == RANKS * 400


@pytest.mark.parametrize("when", ["info", "view"])
def test_what_cannot_change_on_an_open_file_stays(when: str, tmp_path: Path) -> None:
    fixed = {
        "enable": ("false", "true"),
        "scope": ("process", "job"),
        "consistency": ("mpi", "posix"),
        "page_kind": ("tree", "mask"),
        "policy": ("arc", "lru"),
        "storage": ("mpi", "posix"),
        "page_size": ("1MiB", "64KiB"),
        "cache_size": ("1MiB", "64MiB"),
        "shards": ("8", "0"),
        "deterministic": ("true", "false"),
    }
    words = [f"{when} all forebay_{name}={asked}" for name, (asked, _) in fixed.items()]
    done = run(mpi.WHEELS[0], tmp_path, *words, f"{when} all forebay_stats=true")
    assert said(done) == sorted(
        [
            *(
                f"hints of data.bin: forebay_{name}={asked} cannot change on an open file; "
                f"{kept} stays; give it to MPI_File_open"
                for name, (asked, kept) in fixed.items()
            ),
            "hints of data.bin: forebay_stats=true holds for the whole process and is no hint; "
            "it is ignored; set FOREBAY_STATS",
        ]
    )
    assert {name: shown(done)[f"forebay_{name}"] for name in fixed} == {
        name: kept for name, (_, kept) in fixed.items()
    }


def test_the_librarys_file_is_used_by_its_calls_alone(tmp_path: Path) -> None:
    done = run(
        mpi.WHEELS[0],
        tmp_path,
        "open all forebay_storage=mpi",
        "info all forebay_write_behind=true",
    )
    assert said(done) == [
        "hints of data.bin: forebay_write_behind=true needs threads where storage is mpi; "
        "false stays; ask MPI_Init_thread for MPI_THREAD_MULTIPLE"
    ]
    assert shown(done)["forebay_write_behind"] == "false"


OTHER_LANGUAGES: Sequence[tuple[mpi.Mpi, str]] = [
    *((installation, "py") for installation in mpi.WHEELS),
    *((installation, "F90") for installation in mpi.DEBIAN),
]


@pytest.mark.parametrize(
    ("installation", "language"), OTHER_LANGUAGES, ids=lambda v: v if isinstance(v, str) else v.name
)
def test_other_languages(installation: mpi.Mpi, language: str, tmp_path: Path) -> None:
    source = FOLDER / f"hinting.{language}"
    program = (
        [installation.python, str(source)]
        if language == "py"
        else [str(mpi.compile_program(installation, source, suffix="-fortran"))]
    )
    done = forebay.launch(installation, 2, program, tmp_path / "run", {})
    assert done.outcome.code == 0, str(done.outcome)
    assert said(done) == [f"hints of data.bin: {NO_PAGE}", f"hints of data.bin: {NO_POLCY}"]
    assert done.outcome.output.splitlines() == ["forebay_read_ahead=0"]
