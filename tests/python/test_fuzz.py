"""Valid files with randomly changed bytes: each is read, or refused in one line that names it, in
proportionate memory. The changes are the same each time, FOREBAY_FUZZ_EXAMPLES per kind."""

from __future__ import annotations

import gc
import json
import os
import resource
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forebay.analysis import analyze
from forebay.signatures import SignatureError, accesses_of, read, write
from forebay.trace import TraceError, open_trace
from test_parquet_trace import converted
from traces import LOGS, sample

EXAMPLES = int(os.environ.get("FOREBAY_FUZZ_EXAMPLES", "0"))
MOST_BYTES = 400 << 20  # limit for reading any of these files


def bounded(examples: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return settings(
        max_examples=EXAMPLES or examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


PLACE = st.floats(0, 1, exclude_max=True)
NUMBERS = st.sampled_from([0, 1, 0x7F, 0x80, 0xFF, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1])
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), PLACE, st.integers(0, 7)),
        st.tuples(st.just("cut"), PLACE, st.integers(1, 64)),
        st.tuples(st.just("truncate"), PLACE, st.none()),
        st.tuples(st.just("put"), PLACE, st.binary(min_size=1, max_size=16)),
        st.tuples(st.just("number"), PLACE, NUMBERS),
        st.tuples(st.just("double"), PLACE, st.integers(1, 64)),
    ),
    min_size=1,
    max_size=5,
)


def edited(content: bytes, edits: list[tuple[str, float, object]]) -> bytes:
    bad = bytearray(content)
    for kind, place, how in edits:
        at = int(place * len(bad))
        if kind == "flip" and bad:
            bad[at] ^= 1 << how
        elif kind == "cut":
            del bad[at : at + how]
        elif kind == "truncate":
            del bad[at:]
        elif kind == "put":
            bad[at : at + len(how)] = how
        elif kind == "number":
            bad[at : at + 8] = how.to_bytes(8, "little")
        elif kind == "double":
            bad[at:at] = bad[at : at + how]
    return bytes(bad)


@pytest.fixture(autouse=True)
def memory_in_proportion():
    """Checks the memory of this process, and of the children that read Darshan logs."""
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    before = {who: resource.getrusage(who).ru_maxrss << 10 for who in processes}
    yield
    gc.collect()
    for who in processes:
        assert resource.getrusage(who).ru_maxrss << 10 < before[who] + MOST_BYTES


def read_or_refused(path: Path) -> bool:
    """Whether the file was read."""
    try:
        told = analyze(open_trace(path)).to_json()
    except TraceError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error) and len(str(error)) < 2000
        return False
    json.dumps(told)
    return True


@pytest.fixture(scope="module")
def parquet(tmp_path_factory) -> bytes:
    folder = tmp_path_factory.mktemp("parquet")
    return converted(sample(folder / "t", ranks=3), folder).read_bytes()


def test_parquet_files(parquet, tmp_path):
    path = tmp_path / "job.parquet"
    outcomes = []

    @bounded(400)
    @given(EDITS)
    def try_one(edits):
        path.write_bytes(edited(parquet, edits))
        outcomes.append(read_or_refused(path))

    try_one()
    assert True in outcomes and False in outcomes


def test_metadata_of_parquet_files(parquet, tmp_path):
    """Each value is replaced by other values that JSON may contain."""
    import pyarrow.parquet as pq

    path = tmp_path / "job.parquet"
    path.write_bytes(parquet)
    table, about = pq.read_table(path), json.loads(pq.read_metadata(path).metadata[b"forebay"])
    plain = st.none() | st.booleans() | st.integers(-(2**65), 2**65) | st.floats() | st.text()
    anything = st.recursive(
        plain,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=5,
    )
    outcomes = []

    @bounded(150)
    @given(st.sampled_from(sorted(about)), st.data())
    def try_one(name, data):
        changed = json.loads(json.dumps(about))
        value = changed[name]
        if isinstance(value, list) and value and data.draw(st.booleans()):
            row = data.draw(st.integers(0, len(value) - 1))
            if isinstance(value[row], dict):
                value[row][data.draw(st.sampled_from(sorted(value[row])))] = data.draw(anything)
            else:
                value[row] = data.draw(anything)
        else:
            changed[name] = data.draw(anything)
        metadata = {"forebay": json.dumps(changed)}
        pq.write_table(table.replace_schema_metadata(metadata), path)
        outcomes.append(read_or_refused(path))

    try_one()
    assert True in outcomes and False in outcomes


@pytest.mark.parametrize("name", ["ior_hdf5_4ranks", "mpi-io-test_32ranks"])
def test_darshan_logs(name, tmp_path):
    """A child process reads each log, because a bad one may crash the log's library."""
    content = (LOGS / f"{name}.darshan").read_bytes()
    path = tmp_path / "job.darshan"

    @bounded(10)
    @given(EDITS)
    def try_one(edits):
        path.write_bytes(edited(content, edits))
        read_or_refused(path)

    try_one()


@pytest.mark.parametrize("ending", ["signatures", "json"])
def test_files_of_signatures(ending, tmp_path):
    analysis = analyze(open_trace(LOGS / "ior_hdf5_4ranks.darshan"))
    path = tmp_path / f"job.{ending}"
    with path.open("wb") as file:
        write(analysis, file, as_json=ending == "json")
    content = path.read_bytes()
    outcomes = []

    @bounded(300)
    @given(EDITS)
    def try_one(edits):
        path.write_bytes(edited(content, edits))
        try:
            message = read(path)
        except SignatureError as error:
            assert str(error).startswith(f"{path}: ")
            assert "\n" not in str(error) and len(str(error)) < 2000
            outcomes.append(False)
            return
        outcomes.append(True)
        MessageToDict(message)
        for local in message.locals:
            for _ in islice(accesses_of(local), 1000):
                pass

    try_one()
    assert True in outcomes and False in outcomes
