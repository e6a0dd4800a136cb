"""Signatures as protocol buffers or JSON: src/pattern/signature.proto says what is in them.

import forebay.signatures
analysis = forebay.analyze(forebay.open_trace("run.trace"))
message = forebay.signatures.message_of(analysis)    # plain values
read = forebay.signatures.read("run.signatures")     # a Signatures message
for operation, offset, size in forebay.signatures.accesses_of(read.locals[0]):
    ...
together = read.globals[0].patterns[0]
for rank, start in forebay.signatures.starts_of(together):
    accesses = list(forebay.signatures.accesses_at(together, start))
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from forebay.analysis import Analysis
from forebay.kinds import check_path
from forebay.text import one_line

if TYPE_CHECKING:
    from forebay.signatures.signature_pb2 import GlobalPattern, LocalSignature, Pattern, Signatures

VERSION = 2
"""The version that is written. Earlier versions are read, too."""
_WORD = 1 << 64


class SignatureError(Exception):
    """The file contains no signatures. The text is one line with the file and the reason."""


def message_of(analysis: Analysis) -> dict[str, Any]:
    """The message Signatures as plain values."""
    return {
        "version": VERSION,
        "operations": [{"name": name, "writes": writes} for name, writes in analysis.operations],
        "locals": [
            {
                "rank": one.rank,
                "thread": one.thread,
                "file": file.path,
                **one.signature.message(),
            }
            for file in analysis.files
            for one in file.locals
        ],
        "globals": [
            {"file": file.path, **file.signature.merged.message()}
            for file in analysis.files
            if file.locals
        ],
        "zero_ns": analysis.first_ns,
    }


def write(analysis: Analysis, file: IO[bytes], as_json: bool = False) -> None:
    """Writes all signatures. Raises ImportError without protobuf, except for JSON."""
    message = message_of(analysis)
    if as_json:
        file.write(json.dumps(message).encode())
        return
    from google.protobuf.json_format import ParseDict

    from forebay.signatures.signature_pb2 import Signatures

    file.write(ParseDict(message, Signatures()).SerializeToString(deterministic=True))


def read(path: str | Path) -> Signatures:
    """The signatures in a file, as protocol buffers or JSON.

    Raises SignatureError if there are none, and OSError.
    """
    from google.protobuf.json_format import Parse, ParseError
    from google.protobuf.message import DecodeError

    from forebay.signatures.signature_pb2 import Signatures

    check_path(path, "signatures.read", "path")
    content = Path(path).read_bytes()
    message = Signatures()
    name = one_line(str(path))
    try:
        if content.lstrip()[:1] == b"{":
            Parse(content, message, ignore_unknown_fields=True)
        else:
            message.ParseFromString(content)
    except (ParseError, DecodeError, RecursionError, UnicodeDecodeError) as error:
        reason = one_line(str(error)) or "damaged"
        raise SignatureError(f"{name}: no signatures: {reason}") from error
    if not 1 <= message.version <= VERSION:
        raise SignatureError(
            f"{name}: signatures of version {message.version}; this Forebay reads 1 to {VERSION}"
        )
    operations = len(message.operations)
    for number, local in enumerate(message.locals):
        _check_local(local, operations, f"{name}: local signature {number}")
    for merged in message.globals:
        for number, pattern in enumerate(merged.patterns):
            where = f"{name}: pattern {number} of {one_line(merged.file)}"
            _check_pattern(pattern.pattern, operations, where)
            _check_ranks(pattern, where)
    return message


def _check_pattern(pattern: Pattern, operations: int, where: str, loops: int = 0) -> None:
    """Raises SignatureError if the accesses of the pattern cannot be computed."""
    if pattern.WhichOneof("kind") == "access":
        if pattern.access.operation >= operations:
            raise SignatureError(f"{where}: there is no operation {pattern.access.operation}")
        if len(pattern.access.steps) != loops:
            raise SignatureError(f"{where}: an access within {loops} loops has other steps")
    elif not pattern.loop.body:
        raise SignatureError(f"{where}: a loop without a body")
    for one in pattern.loop.body:
        _check_pattern(one, operations, where, loops + 1)


def _check_ranks(pattern: GlobalPattern, where: str) -> None:
    if any(one.step == 0 or one.last < one.first for one in pattern.ranks):
        raise SignatureError(f"{where}: its ranks make no sense")
    ranks = sum((one.last - one.first) // one.step + 1 for one in pattern.ranks)
    if pattern.own_starts and len(pattern.own_starts) != ranks:
        raise SignatureError(f"{where}: {len(pattern.own_starts)} starts of {ranks} ranks")
    if not pattern.own_starts and pattern.base.rank_step == 0:
        raise SignatureError(f"{where}: a base without a step of ranks")


def _check_local(local: LocalSignature, operations: int, where: str) -> None:
    for pattern in local.patterns:
        _check_pattern(pattern, operations, where)
    for part in local.parts:
        raw = part.raw
        if part.WhichOneof("kind") == "pattern" and part.pattern.pattern >= len(local.patterns):
            raise SignatureError(f"{where}: there is no pattern {part.pattern.pattern}")
        if not len(raw.offset) == len(raw.size) == len(raw.operation):
            raise SignatureError(f"{where}: a raw part whose columns differ in length")


def accesses_of(local: LocalSignature) -> Iterator[tuple[int, int, int]]:
    """Operation, offset and size of each access that was not lost, in order."""
    for part in local.parts:
        kind = part.WhichOneof("kind")
        if kind == "raw":
            yield from zip(part.raw.operation, part.raw.offset, part.raw.size, strict=True)
        elif kind == "pattern":
            pattern = local.patterns[part.pattern.pattern]
            placed = _accesses(pattern, (), part.pattern.position)
            yield from islice(placed, part.accesses)


def starts_of(pattern: GlobalPattern) -> Iterator[tuple[int, int]]:
    """Each rank of a global pattern, and the offset of its first access."""
    base = pattern.base
    ranks = (rank for one in pattern.ranks for rank in range(one.first, one.last + 1, one.step))
    if pattern.own_starts:
        yield from zip(ranks, pattern.own_starts, strict=True)
        return
    for rank in ranks:
        index = (rank - base.first_rank) // base.rank_step
        row, column = divmod(index, base.width) if base.width else (0, index)
        yield rank, _word(base.begin + column * base.step + row * base.row_step)


def accesses_at(pattern: GlobalPattern, start: int) -> Iterator[tuple[int, int, int]]:
    """Operation, offset and size of each access of the rank whose pattern begins at `start`."""
    yield from _accesses(pattern.pattern, (), start)


def _accesses(
    pattern: Pattern, iterations: Sequence[int], position: int
) -> Iterator[tuple[int, int, int]]:
    """`iterations`: those of the loops around the pattern, innermost first."""
    if pattern.WhichOneof("kind") == "access":
        one = pattern.access
        offset, size = position + one.offset, one.size
        for iteration, step in zip(iterations, one.steps, strict=True):
            offset += iteration * step.offset
            size += iteration * step.size
        yield one.operation, _word(offset), _word(size)
        return
    for iteration in range(pattern.loop.count):
        for one in pattern.loop.body:
            yield from _accesses(one, (iteration, *iterations), position)


def _word(number: int) -> int:
    """The number as a signed integer of 64 bits; signatures wrap around."""
    number %= _WORD
    return number - _WORD if number >= _WORD // 2 else number
