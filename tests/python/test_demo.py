"""`forebay demo`: the table of the README."""

from __future__ import annotations

import re
from pathlib import Path

from command import forebay


def test_the_speed_up_is_that_of_the_seconds_beside_it(tmp_path: Path) -> None:
    done = forebay("demo", "--dir", tmp_path, "--ranks", 2, "--repeat", 1, COLUMNS="100")
    assert done.returncode == 0, done.stderr
    rows = re.findall(r"(plain|Forebay) +([\d,]+) +([\d,]+) +([\d.]+)(?: +([\d.]+)x)?", done.stdout)
    assert [row[0] for row in rows] == ["plain", "Forebay"] * 3
    for plain, ours in zip(rows[::2], rows[1::2], strict=True):
        assert plain[1] == ours[1]  # the same number of calls
        assert plain[4] == ""
        half = 0.0005  # the largest rounding error
        least = (float(plain[3]) - half) / (float(ours[3]) + half)
        most = (float(plain[3]) + half) / (float(ours[3]) - half)
        assert least - 0.05 <= float(ours[4]) <= most + 0.05
    assert "The files are the same, byte for byte." in done.stdout
    assert list(tmp_path.iterdir()) == []
