"""Draws the figures of docs/report.md: of a run like FLASH's, which it makes, and of a Darshan log
of 384 ranks.

    python bench/figures.py LOG.darshan [DIRECTORY]    (Forebay installed with `darshan`)

The run writes in DIRECTORY, or in a temporary one: choose a disk, whose times are worth drawing.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from forebay import open_trace, plots
from forebay.bench.mpi import find_mpi
from forebay.plots.style import svg_of

FIGURES = Path(__file__).resolve().parent.parent / "docs" / "figures"
RANKS = 4


def flash_run(folder: Path) -> Path:
    """Makes the run and returns its trace."""
    mpi = find_mpi()
    program = mpi.compile("flash", folder)
    trace = folder / "flash.trace"
    forebay = [sys.executable, "-m", "forebay", "trace", "-d", str(trace), "--"]
    (folder / "out").mkdir()
    command = mpi.command(RANKS, [str(program), "--dir", str(folder / "out"), "--repeat", "1"])
    subprocess.run(
        [*forebay, *command],
        env=mpi.environment(RANKS),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return trace


def draw(path: Path, name: str) -> None:
    """Draws the figures of one trace, as docs/figures/NAME-*.svg."""
    of_job = plots.of(open_trace(path))
    drawn = {
        "places": of_job.places(),
        "sizes": of_job.sizes_over_time(),
        "bandwidth": of_job.bandwidth(),
        "busy": of_job.busy(),
        "overlaps": of_job.overlaps(),
    }
    for kind, figure in drawn.items():
        (FIGURES / f"{name}-{kind}.svg").write_text(svg_of(figure), encoding="utf-8")


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    draw(Path(sys.argv[1]), "ranks384")
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as folder:
        draw(flash_run(Path(folder)), "flash")


if __name__ == "__main__":
    main()
