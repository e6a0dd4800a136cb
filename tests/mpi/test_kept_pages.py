"""Pages that outlive the close of their file (option keep): reopens.c checks the bytes in all
configurations of test_semantics.py; here, when pages are kept."""

from pathlib import Path

import pytest

from harness import forebay, mpi

PROGRAM = Path(__file__).parent / "reopens.c"
CACHED = {"FOREBAY_STEP_ASIDE": "never"}


def kept_pages(
    installation: mpi.Mpi, folder: Path, settings: dict[str, str], *, nodes: int = 1
) -> int:
    """Runs reopens.c on two ranks. Returns how many kept pages opens found."""
    program = [str(mpi.compile_program(installation, PROGRAM)), "."]
    if nodes > 1:
        program = forebay.on_nodes(program, nodes)
    run = forebay.launch(installation, 2, program, folder / "run", CACHED | settings)
    assert run.outcome.code == 0, str(run.outcome)
    assert run.statistics is not None
    kept = run.statistics["total"]["kept_pages"]
    assert isinstance(kept, int)
    return kept


@pytest.mark.parametrize("keep", ["job", "stat"])
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_pages_are_kept_for_the_next_open(
    installation: mpi.Mpi, nodes: int, keep: str, tmp_path: Path
) -> None:
    settings = {"FOREBAY_KEEP": keep, "FOREBAY_PAGE_SIZE": "4KiB", "FOREBAY_DOMAIN_SIZE": "4KiB"}
    assert kept_pages(installation, tmp_path, settings, nodes=nodes) > 200


@pytest.mark.parametrize("length", [300, 10_000, 2 << 20])
@pytest.mark.parametrize("installation", mpi.WHEELS, ids=lambda m: m.name)
def test_nodes_take_kept_pages_from_their_owners(
    installation: mpi.Mpi, length: int, tmp_path: Path
) -> None:
    """After the file was written, storage is hardly read, however long the reads are: only what is
    fetched ahead of chunks that are not the node's."""
    program = mpi.compile_program(installation, PROGRAM.parent / "handles" / "restart.c")
    settings = CACHED | {"FOREBAY_DOMAIN_SIZE": "256KiB"}
    read = {}
    for keep in ("job", "never"):
        command = forebay.on_nodes([str(program), "restarted", str(length)], 2)
        folder, options = tmp_path / keep, settings | {"FOREBAY_KEEP": keep}
        run = forebay.launch(installation, 4, command, folder, options)
        assert run.outcome.code == 0, str(run.outcome)
        assert run.statistics is not None
        total = run.statistics["total"]
        read[keep] = total["fetched_bytes"] + total["read_storage_bytes"]
    assert 4 * read["job"] < read["never"], read


@pytest.mark.parametrize(
    ("settings", "nodes"),
    [
        ({"FOREBAY_KEEP": "never"}, 1),
        ({"FOREBAY_KEEP": "never"}, 2),
        ({"FOREBAY_DETERMINISTIC": "true"}, 1),
        ({"FOREBAY_STORAGE": "mpi"}, 1),
    ],
    ids=["never", "never-nodes", "deterministic", "storage-mpi"],
)
def test_pages_are_not_kept(settings: dict[str, str], nodes: int, tmp_path: Path) -> None:
    assert kept_pages(mpi.WHEELS[0], tmp_path, settings, nodes=nodes) == 0


def test_nodes_that_cache_for_themselves_keep_nothing(tmp_path: Path) -> None:
    """But for files that ranks of one node open: a local file's stamp tells of all changes."""
    settings = {"FOREBAY_CONSISTENCY": "mpi", "FOREBAY_PAGE_SIZE": "4KiB"}
    kept = kept_pages(mpi.WHEELS[0], tmp_path, settings, nodes=2)
    owned = {"FOREBAY_PAGE_SIZE": "4KiB", "FOREBAY_DOMAIN_SIZE": "4KiB"}
    assert kept < kept_pages(mpi.WHEELS[0], tmp_path / "owned", owned, nodes=2)
