"""The page of `forebay report`: its numbers, hostile names, and that a browser shows it without
loading anything."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from forebay.analysis import analyze
from forebay.commands.report import report
from forebay.plots.bins import TIMES, count_into_bins, overlaps
from forebay.reports import job as page_module
from forebay.reports.job import render, short_path
from forebay.trace import Operation, open_trace
from traces import (
    LOGS,
    OPEN,
    READ_AT_ALL,
    WRITE_AT,
    Call,
    block,
    interleaved,
    process,
    sample,
    write_trace,
)

REAL = ("benchmark_write_parallel_384ranks", "mpi-io-test_32ranks", "ior_hdf5_4ranks")
SCRIPT = Path(page_module.__file__).parent / "figures.js"
CHROMIUM = shutil.which("chromium")
CALL = Call(WRITE_AT, 0, 0, 0, 10, 10, 0, 1000)
HOSTILE = "/x/<script>alert('1')</script>&\"'-->"


class Page(HTMLParser):
    """Elements, values of tiles, and the JSON of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tiles: dict[str, str] = {}
        self.json = ""
        self._within: str | None = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.elements.append((tag, attributes))
        self._within = attributes.get("data-value") or attributes.get("id")

    def handle_endtag(self, _tag):
        self._within = None

    def handle_data(self, data):
        if self._within == "analysis":
            self.json += data
        elif self._within is not None and self._within.isidentifier():
            self.tiles.setdefault(self._within, data)


def hostile(folder: Path) -> Path:
    folder.mkdir()
    calls = [Call(OPEN, end_ns=5), Call(WRITE_AT, 0, 0, 0, 10, 10, 10, 20)]
    lines = [*process(0, 1), f"file 0 1 0 5 {HOSTILE}", *block(calls), "end 2 0"]
    write_trace(folder / "0-0.trace", lines)
    return folder


def mixed(folder: Path, ranks: int = 5, accesses: int = 300) -> Path:
    """Reads and writes of any size at any time."""
    folder.mkdir()
    draw = np.random.default_rng(1)
    for rank in range(ranks):
        calls = [Call(OPEN, end_ns=1000)]
        start = 2000
        for _ in range(accesses):
            size, took = int(draw.integers(1, 1 << 20)), int(draw.integers(1, 50_000))
            routine = WRITE_AT if draw.random() < 0.5 else READ_AT_ALL
            place = int(draw.integers(0, 1 << 24))
            calls.append(Call(routine, 0, 0, place, size, size, start, start + took))
            start += took + int(draw.integers(0, 20_000))
        lines = [*process(rank, ranks), f"file 0 {ranks} 0 5 /scratch/out", *block(calls)]
        write_trace(folder / f"{rank}-0.trace", [*lines, f"end {len(calls)} 0"])
    return folder


def traces(folder: Path) -> list[Path]:
    logs = [LOGS / f"{name}.darshan" for name in REAL]
    return [*logs, sample(folder / "sample"), mixed(folder / "mixed"), hostile(folder / "hostile")]


def test_bins_hold_what_the_accesses_say(tmp_path):
    trace = open_trace(mixed(tmp_path / "t"))
    analysis = analyze(trace)
    (file,) = analysis.files
    bins = count_into_bins(trace, analysis.first_ns, analysis.last_ns, [0], [file.end])
    table = trace.accesses
    start = (table["start_ns"] - analysis.first_ns) / 1e9
    end = (table["end_ns"] - analysis.first_ns) / 1e9
    assert bins.busy_s.sum() == pytest.approx((end - start).sum())
    edges = bins.edges_s
    for kind, operation in enumerate((Operation.READ, Operation.WRITE)):
        rows = table["operation"] == operation
        moved = table["transferred"][rows]
        assert bins.bytes_moved[kind].sum() == pytest.approx(moved.sum())
        assert bins.sizes[kind].sum() == bins.places[0][kind].sum() == rows.sum()
        assert bins.shares[0, :, kind].sum() == moved.sum()
        # Checks single bins by a direct count.
        for one in (0, TIMES // 3, TIMES - 1):
            within = np.minimum(end[rows], edges[one + 1]) - np.maximum(start[rows], edges[one])
            share = np.maximum(within, 0) / (end[rows] - start[rows])
            assert bins.bytes_moved[kind, one] == pytest.approx((share * moved).sum(), abs=1e-3)
    for latencies in bins.latencies:
        routine = [one.name for one in trace.routines].index(latencies.routine)
        took = (end - start)[table["routine"] == routine]
        assert latencies.calls == len(took)
        assert latencies.longest == took.max()
        for part, value in ((50, latencies.median), (90, latencies.p90), (99, latencies.p99)):
            # A percentile of few calls lies between two of them.
            below, above = np.percentile(took, part, method="lower"), took.max()
            assert below / 1.1 <= value <= above


@pytest.mark.parametrize("number", range(len(REAL) + 3))
def test_a_page_holds_the_analysis_and_nothing_from_outside(number, tmp_path):
    trace = open_trace(traces(tmp_path)[number])
    text = render(trace)
    page = Page(text)
    analysis = analyze(trace)
    assert json.loads(page.json) == json.loads(json.dumps(analysis.to_json()))
    assert page.tiles["accesses"] == f"{analysis.totals.accesses:,}"
    assert page.tiles["processes"] == f"{analysis.processes:,}"
    written = sum(file.write.transferred for file in analysis.files)
    assert page.tiles["written"] == f"{written / 2**20:,.1f} MiB"
    for tag, attributes in page.elements:
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
        assert tag != "script" or attributes in ({}, {"type": "application/json", "id": "analysis"})
        for name, value in attributes.items():
            assert not name.startswith("on")
            if name in ("src", "href", "xlink:href", "action", "data"):
                assert value.startswith(("#", "data:image/")), (tag, name, value[:60])
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL) or [""]
    assert script in ("", SCRIPT.read_text())
    assert ("<figure" in text) == bool(script)
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    for problem in analysis.problems:
        assert html.escape(problem, quote=False) in html.unescape(text) or problem in html.unescape(
            text
        )


def test_the_script_asks_nobody_for_anything():
    assert not re.search(
        r"fetch|XMLHttp|import|WebSocket|sendBeacon|innerHTML|eval|Function\(|https?:(?!//www.w3.org/)",
        SCRIPT.read_text(),
    )


def test_overlaps_are_those_of_every_pair(tmp_path):
    trace = open_trace(mixed(tmp_path / "t", ranks=5, accesses=20))
    (file,) = analyze(trace).files
    table = trace.accesses
    rows = table["offset"] >= 0
    touched = np.zeros((5, file.end), bool)
    ranges = (table[name][rows].tolist() for name in ("process", "offset", "end"))
    for process_, offset, end in zip(*ranges, strict=True):
        touched[process_, offset:end] = True
    pairs = np.array([[float((a & b).sum()) for b in touched] for a in touched])
    np.fill_diagonal(pairs, 0)
    assert pairs.any()
    assert (overlaps([file.sharing], (1,) * 5) == pairs).all()
    together = np.add.reduceat(np.add.reduceat(pairs, [0, 2], axis=0), [0, 2], axis=1)
    assert (overlaps([file.sharing], (2, 3)) == together).all()
    assert (touched.sum(axis=0) > 1).sum() == file.sharing.bytes


def test_a_page_tells_of_phases_and_shared_bytes(tmp_path):
    text = render(open_trace(mixed(tmp_path / "t")))
    assert "Overlaps between processes" in text and "Shared bytes" in text
    folder = tmp_path / "phases"
    folder.mkdir()
    calls = [Call(WRITE_AT, 0, 0, 0, 10, 10, 0, 1000), Call(WRITE_AT, 0, 0, 10, 10, 10, 10**9)]
    lines = [*process(0, 1), "file 0 1 0 5 /scratch/<out>", *block(calls), "end 2 0"]
    write_trace(folder / "0-0.trace", lines)
    page = render(open_trace(folder))
    assert "<h2>Phases</h2>" in page and "&lt;out&gt;" in page and "<out>" not in page
    assert "Overlaps between processes" not in page


# The page measures itself within a frame. Elements that scroll may be wider than the screen.
MEASURE = """<script>
onload = () => {
  const wide = [...document.body.querySelectorAll("*")].filter(one =>
    one.getBoundingClientRect().right > innerWidth + 1 && !one.closest(".scroll, figure, pre"));
  const text = document.querySelector("svg text");
  parent.postMessage(JSON.stringify({
    wide: wide.map(one => one.outerHTML.slice(0, 80)),
    page: document.documentElement.scrollWidth <= innerWidth,
    dark: matchMedia("(prefers-color-scheme: dark)").matches,
    paper: getComputedStyle(document.body).backgroundColor,
    ink: getComputedStyle(document.body).color,
    labels: text ? getComputedStyle(text).fill : null,
    svg: Math.min(...[...document.querySelectorAll("svg")].map(
      one => one.getBoundingClientRect().width)),
  }), "*");
};
</script>"""


def measured(
    page: str, width: int, dark: bool, folder: Path, script: str = MEASURE
) -> dict[str, Any]:
    """Chromium's measurements of the page on a screen of this width, with this colour scheme."""
    scripted = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", page)
    scripted = scripted.replace("</body>", f"{script}</body>")
    framed = folder / f"frame-{width}-{dark}.html"
    text = json.dumps(scripted).replace("</", "<\\/")
    framed.write_text(
        f"""<body><iframe id="frame" style="width:{width}px;height:2000px;border:0"></iframe>
        <pre id="told"></pre><script>
        onmessage = event => {{ document.getElementById("told").textContent = event.data; }};
        document.getElementById("frame").srcdoc = {text};
        </script></body>""",
        encoding="utf-8",
    )
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    elements, _ = shown_by_chromium(framed, "--virtual-time-budget=20000", scheme)
    told = re.search(r'<pre id="told">(.*?)</pre>', elements, re.DOTALL)
    assert told is not None and told[1], elements[:2000]
    found = json.loads(html.unescape(told[1]))
    assert isinstance(found, dict)
    return found


def shown_by_chromium(page: Path, *more: str) -> tuple[str, str]:
    """The page's elements after Chromium has shown it, and the messages on the console."""
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
    flags += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    flags += ["--enable-logging=stderr", f"--user-data-dir={page.parent / 'profile'}"]
    command = [str(CHROMIUM), *flags, *more, "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return shown.stdout, "\n".join(re.findall(r".*CONSOLE.*", shown.stderr))


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_browser_shows_it(tmp_path):
    """The page forbids itself to load anything: an attempt would be reported on the console."""
    page = tmp_path / "page.html"
    for path in traces(tmp_path):
        text = render(open_trace(path))
        page.write_text(text, encoding="utf-8")
        elements, console = shown_by_chromium(page)
        assert console == ""
        assert Page(elements).tiles == Page(text).tiles
        assert elements.count("<svg") == text.count("<svg")
    for attempt in ('<img src="http://example.org/a.png">', "<script>document.title = 1</script>"):
        page.write_text(text.replace("</body>", f"{attempt}</body>"), encoding="utf-8")
        assert "Content Security Policy" in shown_by_chromium(page)[1]


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_wider_than_the_screen_and_all_can_be_read(width, dark, tmp_path):
    """On a phone and on a desktop, in both colour schemes, with a long path and with the largest
    log."""
    folder = tmp_path / "t"
    folder.mkdir()
    lines = [*process(0, 1), f"file 0 1 0 5 /{'a' * 200}/out", *block([CALL]), "end 1 0"]
    write_trace(folder / "0-0.trace", lines)
    for path in (folder, LOGS / f"{REAL[0]}.darshan"):
        shown = measured(render(open_trace(path), open_trace(folder)), width, dark, tmp_path)
        assert shown["wide"] == []
        assert shown["page"] and shown["dark"] == dark
        ground = "rgb(21, 25, 29)" if dark else "rgb(255, 255, 255)"
        ink = "rgb(223, 229, 234)" if dark else "rgb(29, 35, 41)"
        assert (shown["paper"], shown["ink"], shown["labels"]) == (ground, ink, ink)
        assert shown["svg"] >= 640  # large enough for its letters to be read


# Points at the middle of each figure, drags over a part of the first, and returns what is shown
# then.
POINT = """<script>
onload = () => {
  const send = (figure, kind, x, y) => {
    const box = figure.querySelector("svg").getBoundingClientRect();
    figure.dispatchEvent(new PointerEvent(kind, {
      clientX: box.left + box.width * x, clientY: box.top + box.height * y,
      bubbles: true, pointerType: "mouse", button: 0 }));
  };
  const figures = [...document.querySelectorAll("figure")], boxes = [];
  const viewed = () => boxes.push(figures[0].querySelector("svg").getAttribute("viewBox"));
  for (const figure of figures) send(figure, "pointermove", 0.5, 0.5);
  const said = figures.map(figure => figure.querySelector("figcaption").textContent);
  viewed();
  send(figures[0], "pointerdown", 0.3, 0.3);
  send(figures[0], "pointerup", 0.5, 0.5);
  viewed();
  figures[0].dispatchEvent(new MouseEvent("dblclick"));
  viewed();
  for (const figure of figures) send(figure, "pointerleave", 0, 0);
  const left = figures.map(figure => figure.querySelector("figcaption").textContent).join("");
  parent.postMessage(JSON.stringify({ said, boxes, left }), "*");
};
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")
def test_a_figure_tells_its_values_and_is_magnified(tmp_path):
    folder = tmp_path / "t"
    folder.mkdir()
    # Half a second in the middle of the job, 64 MiB at 128 MiB/s; calls of no bytes before and
    # after.
    calls = [
        Call(OPEN, end_ns=1000),
        Call(WRITE_AT, 0, 0, 0, 1 << 26, 1 << 26, 250_000_000, 750_000_000),
        Call(WRITE_AT, 0, 0, 0, 0, 0, 999_999_000, 1_000_000_000),
    ]
    lines = [*process(0, 1), "file 0 1 0 5 /scratch/out", *block(calls), "end 3 0"]
    write_trace(folder / "0-0.trace", lines)
    shown = measured(render(open_trace(folder)), 1280, False, tmp_path, POINT)
    said, (before, magnified, after) = shown["said"], shown["boxes"]
    assert said[0].endswith("s · read 0 B/s · write 128 MiB/s")
    assert any("· process 0 · 100 %" in one for one in said)
    assert any("process 0 · out · 64 MiB" in one for one in said)
    assert shown["left"] == ""
    assert before == after != magnified
    assert float(magnified.split()[2]) < float(before.split()[2]) / 2


def test_long_paths_keep_their_ends():
    assert short_path("/scratch/out.h5") == "/scratch/out.h5"
    short = short_path(f"/scratch/{'deep/' * 40}out.h5")
    assert len(short) == 72
    assert short.startswith("/scratch/") and short.endswith("/out.h5") and "…" in short


def test_a_finding_names_its_long_path_shortened(tmp_path):
    """The whole path stays within reach, as the title of the element."""
    path = f"/scratch/{'deep/' * 40}out.h5"
    calls = [Call(WRITE_AT, 0, 0, 600 * n, 300, 300) for n in range(2000)]
    write_trace(
        tmp_path / "0-0.trace",
        [*process(0, 1), f"file 0 1 0 5 {path}", *block(calls), "end 2000 0"],
    )
    (finding,) = analyze(open_trace(tmp_path)).findings
    assert finding.path == path and path in finding.title
    page = render(open_trace(tmp_path))
    assert f'<dt title="{path}">small writes of {short_path(path)}</dt>' in page


def test_two_runs_are_compared(tmp_path):
    one, other = sample(tmp_path / "one", ranks=2), sample(tmp_path / "other", ranks=4)
    result = CliRunner().invoke(
        report, [str(one), "-o", str(tmp_path / "page.html"), "--against", str(other)]
    )
    assert result.exit_code == 0, result.output
    text = (tmp_path / "page.html").read_text()
    assert "<td>14</td><td>28</td><td>0.50</td>" in text  # writes: seven per rank
    first, *_ = re.findall(r"Signatures of .*?</table>", text, re.DOTALL)
    assert re.search(r'processes</td><td class="text ">2</td><td class="text">4<', first)
    for label, better in (("seconds in writes, all processes", "better"), ("bytes a write", "")):
        (row,) = re.findall(rf"<tr>(?:(?!</tr>).)*{label}.*?</tr>", text)
        assert ('class="better"' in row) == bool(better)
    assert "Against" not in render(open_trace(one))


def test_the_better_signature_is_marked(tmp_path):
    one = interleaved(tmp_path / "one", ranks=2, records=20, size=300)
    other = interleaved(tmp_path / "other", ranks=2, records=20, size=300, shift=7)
    for here, there, verdict in ((one, other, "better"), (other, one, "worse")):
        text = render(open_trace(here), open_trace(there))
        (row,) = re.findall(r"<tr><td class=\"text\">together.*?</tr>", text)
        assert f'class="text {verdict}"' in row and "contiguous" in row


def test_a_file_that_exists_is_kept(tmp_path):
    page = tmp_path / "page.html"
    page.write_text("mine")
    trace = str(sample(tmp_path / "t"))
    refused = CliRunner().invoke(report, [trace, "-o", str(page)])
    assert refused.exit_code == 2 and page.read_text() == "mine"
    assert CliRunner().invoke(report, [trace, "-o", str(page), "--force"]).exit_code == 0
    assert page.read_text().startswith("<!DOCTYPE html>")


def test_bad_input_gets_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    page = tmp_path / "page.html"
    result = CliRunner().invoke(report, [str(tmp_path / "empty"), "-o", str(page)])
    assert result.exit_code == 1 and not page.exists()
    assert result.output.count("\n") == 1
