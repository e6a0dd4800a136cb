"""Jobs for the tests of `forebay simulate cluster`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from command import forebay
from forebay.simulation import (
    CLUSTER_SCOPES,
)

SCOPES = [{"scope": scope} for scope in CLUSTER_SCOPES]


def simulated(trace: Path, *words: str) -> list[dict[str, Any]]:
    run = forebay("simulate", "cluster", str(trace), "--json", *words)
    assert run.returncode == 0, run.stderr
    results: list[dict[str, Any]] = json.loads(run.stdout)["results"]
    return results
