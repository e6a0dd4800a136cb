"""What a job does with its files: sums, signatures and findings, from any trace.

import forebay
analysis = forebay.analyze(forebay.open_trace("run.trace"))
for file in analysis.files:
    print(file.path, file.spatial, file.coverage)
"""

from __future__ import annotations

from forebay.analysis import text as _text  # noqa: F401  (what notebooks show)
from forebay.analysis.describe import PAGE_BYTES, analysis_of, analyze
from forebay.analysis.result import (
    Analysis,
    FileAnalysis,
    Finding,
    GlobalSignature,
    LocalSignature,
)
from forebay.analysis.sums import Counts

__all__ = [
    "PAGE_BYTES",
    "Analysis",
    "Counts",
    "FileAnalysis",
    "Finding",
    "GlobalSignature",
    "LocalSignature",
    "analysis_of",
    "analyze",
]
