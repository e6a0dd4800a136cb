"""The Python interface in notebooks and scripts: how results look, tables, wrong types."""

from __future__ import annotations

import html
from html.parser import HTMLParser
from pathlib import Path

import pytest

import forebay
import forebay.signatures
from forebay.notebook import as_html
from forebay.reports import Page
from traces import interleaved, sample


class Outline(HTMLParser):
    """Elements and texts of a fragment. Fails if elements do not close in order."""

    def __init__(self, fragment: str):
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.texts: list[str] = []
        self.feed(fragment)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if "td" in self.open:
            self.cells.append(data)


@pytest.fixture
def trace(tmp_path: Path) -> forebay.trace.Trace:
    return forebay.open_trace(interleaved(tmp_path / "t", ranks=3, records=20))


def test_an_analysis_shows_all_of_a_signature(trace: forebay.trace.Trace) -> None:
    analysis = forebay.analyze(trace)
    shown = Outline(analysis._repr_html_())
    (signature,) = analysis.files[0].signature.patterns
    assert f"  {signature}" in shown.texts
    assert shown.cells[-1] == Path(analysis.files[0].path).name


def test_a_trace_shows_what_is_missing_and_no_markup_of_names(tmp_path: Path) -> None:
    shown = forebay.open_trace(sample(tmp_path / "<t>[bold]"))._repr_html_()
    outline = Outline(shown)
    assert outline.cells[outline.cells.index("lost") + 1] == "6"
    assert "/scratch/checkpoint" in outline.cells
    assert html.escape("<t>[bold]") in shown and "<t>" not in shown


def test_accesses_show_the_first_rows_with_names(trace: forebay.trace.Trace) -> None:
    outline = Outline(trace.accesses._repr_html_())
    assert "66 accesses" in outline.texts[0]
    assert (outline.cells.count("open"), outline.cells.count("write")) == (1, 9)


def test_accesses_become_a_data_frame(trace: forebay.trace.Trace) -> None:
    frame = trace.accesses.to_pandas()
    assert list(frame["operation"]).count("write") == 60
    assert frame["offset"].dropna().sum() == 300 * sum(range(60))


def test_an_analysis_becomes_a_data_frame(trace: forebay.trace.Trace) -> None:
    analysis = forebay.analyze(trace)
    (row,) = analysis.to_pandas().to_dict("records")
    assert row["path"] == analysis.files[0].path
    assert (row["write_calls"], row["read_calls"]) == (60, 0)
    assert row["spatial"] == analysis.files[0].spatial


def test_simulated_caches_are_a_list_and_a_table(trace: forebay.trace.Trace) -> None:
    results = forebay.simulate_cache(trace.path, policies=["lru", "min"], cache_sizes=[1 << 20])
    assert [one.policy for one in results] == ["lru", "min", "lru", "min"]
    frame = results.to_pandas()
    assert list(frame["hit_rate"]) == [one.hit_rate for one in results]
    assert results.to_arrow().column("hits").to_pylist() == [one.hits for one in results]
    outline = Outline(results._repr_html_())
    assert any("hits" in text and "MIN" in text for text in outline.texts)
    assert "  lru" in outline.cells


def test_wide_tables_are_not_cut() -> None:
    results = forebay.simulation.CacheResults(
        forebay.CacheResult(
            trace="t",
            policy="lru",
            awareness="original",
            page_size=1,
            cache_size=123_456_789 + number,
            aggregators=None,
            accesses=10,
            pages=3,
            hits=number % 10,
            misses=10 - number % 10,
            evictions=0,
        )
        for number in range(60)
    )
    shown = Outline(results._repr_html_())
    assert len([cell for cell in shown.cells if cell.strip().endswith(".0")]) == 60
    assert "…" not in "".join(shown.texts)


def test_a_page_is_saved_once(trace: forebay.trace.Trace, tmp_path: Path) -> None:
    page = forebay.report(trace)
    path = page.save(tmp_path / "page.html")
    assert path.read_text() == page.html
    assert f'srcdoc="{html.escape(page.html)}"' in page._repr_html_()
    with pytest.raises(FileExistsError):
        page.save(path)
    page.save(path, force=True)
    assert sorted(tmp_path.glob("*.html")) == [path]


def test_figures_are_drawn_and_saved(trace: forebay.trace.Trace, tmp_path: Path) -> None:
    of_job = forebay.plots.of(trace)
    assert repr(of_job).startswith(f"<figures of {trace.path.name}: bandwidth, ")
    (path,) = of_job.files
    figures = {
        "bandwidth": of_job.bandwidth(),
        "places": of_job.places(Path(path).name),
        "sizes": of_job.sizes(),
        "sizes over time": of_job.sizes_over_time(),
        "busy": of_job.busy(),
        "sharing": of_job.sharing(),
        "overlaps": of_job.overlaps(),
        "hit rates": forebay.plots.hit_rates(forebay.simulate_cache(trace.path)),
    }
    for name, figure in figures.items():
        figure.savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert figure._repr_html_().startswith("<svg")
    with pytest.raises(ValueError, match=path):
        of_job.places("nowhere")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: forebay.analyze("run.trace"), "forebay.analyze(forebay.open_trace('run.trace'))"),
        (lambda: forebay.analyze(None), "not None"),
        (lambda: forebay.report(Path("a")), "forebay.report(forebay.open_trace('a'))"),
        (lambda: forebay.open_trace(7), "path is a path, not 7"),
        (lambda: forebay.plots.of("a"), "forebay.plots.of(forebay.open_trace('a'))"),
        (lambda: forebay.simulate_cache(3), "not 3"),
        (lambda: forebay.simulate_cache("t", cache_sizes=["64MiB"]), "67108864"),
        (lambda: forebay.simulate_cache("t", policies="lru"), "policies=['lru']"),
        (lambda: forebay.simulate_cache("t", policies=4), "not 4"),
        (lambda: forebay.simulate_cache("t", sample="0.1"), "sample is a number, not '0.1'"),
        (lambda: forebay.simulate_cache("t", union_window="1"), "union_window is a number"),
        (lambda: forebay.simulate_cache("t", memory="1GiB"), "memory is a whole number"),
        (lambda: forebay.simulate_cache("t", jobs=1.5), "jobs is a whole number, not 1.5"),
        (lambda: forebay.simulate_cache("t", progress=3), "progress is a function, not 3"),
        (lambda: forebay.simulate_cache("t", warn=3), "warn is a function, not 3"),
        (lambda: Page("t", "").save(3), "path is a path, not 3"),
        (lambda: forebay.signatures.read(3), "path is a path, not 3"),
        (lambda: forebay.simulate_runtime(None), "not None"),
        (lambda: forebay.simulate_runtime("t", {"policy": "lru"}), "a list"),
    ],
)
def test_a_wrong_type_gets_a_sentence(call, said) -> None:
    with pytest.raises(TypeError) as raised:
        call()
    message = str(raised.value)
    assert said in message and message.startswith("forebay.") and "\n" not in message


def test_a_wrong_type_of_a_traces_is_told_its_path(trace: forebay.trace.Trace) -> None:
    with pytest.raises(TypeError, match=r"\.path"):
        forebay.simulate_cache(trace)
    with pytest.raises(TypeError, match="page_bytes is a whole number, not '64KiB'"):
        forebay.analyze(trace, page_bytes="64KiB")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="jobs is at least 1, not 0"):
        forebay.analyze(trace, jobs=0)


def test_what_a_trace_does_not_have_gets_a_sentence(trace: forebay.trace.Trace) -> None:
    with pytest.raises(TypeError, match="rows is a whole number, not 'all'"):
        trace.batches("all")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="processes is a range"):
        trace.batches(processes=[0])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"columns=\['offset'\]"):
        trace.batches(columns="offset")
    with pytest.raises(ValueError, match="there is no column 'ofset': rank, process"):
        trace.batches(columns=["ofset"])
    with pytest.raises(KeyError, match="there is no column 'ofset': rank, process"):
        trace.accesses["ofset"]


def test_markup_of_names_stays_text() -> None:
    assert as_html(["[bold]a[/] \\[b] <c>"]).count("<span") == 1
    assert "[b] &lt;c&gt;" in as_html(["[bold]a[/] \\[b] <c>"])
