from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Spatial(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SINGLE: _ClassVar[Spatial]
    CONTIGUOUS: _ClassVar[Spatial]
    SAME_PLACE: _ClassVar[Spatial]
    FIXED_STRIDE: _ClassVar[Spatial]
    NEGATIVE_STRIDE: _ClassVar[Spatial]
    NESTED_STRIDED: _ClassVar[Spatial]
    RANDOM: _ClassVar[Spatial]
    COMBINATION: _ClassVar[Spatial]
SINGLE: Spatial
CONTIGUOUS: Spatial
SAME_PLACE: Spatial
FIXED_STRIDE: Spatial
NEGATIVE_STRIDE: Spatial
NESTED_STRIDED: Spatial
RANDOM: Spatial
COMBINATION: Spatial

class Intervals(_message.Message):
    __slots__ = ("count", "least_ns", "most_ns", "mean_ns", "deviation_ns")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    LEAST_NS_FIELD_NUMBER: _ClassVar[int]
    MOST_NS_FIELD_NUMBER: _ClassVar[int]
    MEAN_NS_FIELD_NUMBER: _ClassVar[int]
    DEVIATION_NS_FIELD_NUMBER: _ClassVar[int]
    count: int
    least_ns: int
    most_ns: int
    mean_ns: float
    deviation_ns: float
    def __init__(self, count: _Optional[int] = ..., least_ns: _Optional[int] = ..., most_ns: _Optional[int] = ..., mean_ns: _Optional[float] = ..., deviation_ns: _Optional[float] = ...) -> None: ...

class Step(_message.Message):
    __slots__ = ("offset", "size")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    offset: int
    size: int
    def __init__(self, offset: _Optional[int] = ..., size: _Optional[int] = ...) -> None: ...

class Access(_message.Message):
    __slots__ = ("offset", "size", "operation", "steps")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    STEPS_FIELD_NUMBER: _ClassVar[int]
    offset: int
    size: int
    operation: int
    steps: _containers.RepeatedCompositeFieldContainer[Step]
    def __init__(self, offset: _Optional[int] = ..., size: _Optional[int] = ..., operation: _Optional[int] = ..., steps: _Optional[_Iterable[_Union[Step, _Mapping]]] = ...) -> None: ...

class Loop(_message.Message):
    __slots__ = ("count", "body", "intervals")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    INTERVALS_FIELD_NUMBER: _ClassVar[int]
    count: int
    body: _containers.RepeatedCompositeFieldContainer[Pattern]
    intervals: Intervals
    def __init__(self, count: _Optional[int] = ..., body: _Optional[_Iterable[_Union[Pattern, _Mapping]]] = ..., intervals: _Optional[_Union[Intervals, _Mapping]] = ...) -> None: ...

class Pattern(_message.Message):
    __slots__ = ("access", "loop")
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    LOOP_FIELD_NUMBER: _ClassVar[int]
    access: Access
    loop: Loop
    def __init__(self, access: _Optional[_Union[Access, _Mapping]] = ..., loop: _Optional[_Union[Loop, _Mapping]] = ...) -> None: ...

class Operation(_message.Message):
    __slots__ = ("name", "writes")
    NAME_FIELD_NUMBER: _ClassVar[int]
    WRITES_FIELD_NUMBER: _ClassVar[int]
    name: str
    writes: bool
    def __init__(self, name: _Optional[str] = ..., writes: _Optional[bool] = ...) -> None: ...

class PatternPart(_message.Message):
    __slots__ = ("pattern", "position")
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    pattern: int
    position: int
    def __init__(self, pattern: _Optional[int] = ..., position: _Optional[int] = ...) -> None: ...

class RawPart(_message.Message):
    __slots__ = ("offset", "size", "operation")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    offset: _containers.RepeatedScalarFieldContainer[int]
    size: _containers.RepeatedScalarFieldContainer[int]
    operation: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, offset: _Optional[_Iterable[int]] = ..., size: _Optional[_Iterable[int]] = ..., operation: _Optional[_Iterable[int]] = ...) -> None: ...

class Part(_message.Message):
    __slots__ = ("accesses", "pattern", "raw", "lost", "start_ns", "end_ns")
    ACCESSES_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    RAW_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    START_NS_FIELD_NUMBER: _ClassVar[int]
    END_NS_FIELD_NUMBER: _ClassVar[int]
    accesses: int
    pattern: PatternPart
    raw: RawPart
    lost: bool
    start_ns: int
    end_ns: int
    def __init__(self, accesses: _Optional[int] = ..., pattern: _Optional[_Union[PatternPart, _Mapping]] = ..., raw: _Optional[_Union[RawPart, _Mapping]] = ..., lost: _Optional[bool] = ..., start_ns: _Optional[int] = ..., end_ns: _Optional[int] = ...) -> None: ...

class LocalSignature(_message.Message):
    __slots__ = ("rank", "file", "patterns", "parts", "accesses", "covered", "lost", "thread")
    RANK_FIELD_NUMBER: _ClassVar[int]
    FILE_FIELD_NUMBER: _ClassVar[int]
    PATTERNS_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    ACCESSES_FIELD_NUMBER: _ClassVar[int]
    COVERED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    THREAD_FIELD_NUMBER: _ClassVar[int]
    rank: int
    file: str
    patterns: _containers.RepeatedCompositeFieldContainer[Pattern]
    parts: _containers.RepeatedCompositeFieldContainer[Part]
    accesses: int
    covered: int
    lost: int
    thread: int
    def __init__(self, rank: _Optional[int] = ..., file: _Optional[str] = ..., patterns: _Optional[_Iterable[_Union[Pattern, _Mapping]]] = ..., parts: _Optional[_Iterable[_Union[Part, _Mapping]]] = ..., accesses: _Optional[int] = ..., covered: _Optional[int] = ..., lost: _Optional[int] = ..., thread: _Optional[int] = ...) -> None: ...

class RankRange(_message.Message):
    __slots__ = ("first", "last", "step")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    LAST_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    first: int
    last: int
    step: int
    def __init__(self, first: _Optional[int] = ..., last: _Optional[int] = ..., step: _Optional[int] = ...) -> None: ...

class Base(_message.Message):
    __slots__ = ("first_rank", "rank_step", "width", "begin", "step", "row_step")
    FIRST_RANK_FIELD_NUMBER: _ClassVar[int]
    RANK_STEP_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    BEGIN_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ROW_STEP_FIELD_NUMBER: _ClassVar[int]
    first_rank: int
    rank_step: int
    width: int
    begin: int
    step: int
    row_step: int
    def __init__(self, first_rank: _Optional[int] = ..., rank_step: _Optional[int] = ..., width: _Optional[int] = ..., begin: _Optional[int] = ..., step: _Optional[int] = ..., row_step: _Optional[int] = ...) -> None: ...

class GlobalPattern(_message.Message):
    __slots__ = ("pattern", "base", "ranks", "start_ns", "end_ns", "spatial", "dimension", "overlapping", "own_starts")
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    RANKS_FIELD_NUMBER: _ClassVar[int]
    START_NS_FIELD_NUMBER: _ClassVar[int]
    END_NS_FIELD_NUMBER: _ClassVar[int]
    SPATIAL_FIELD_NUMBER: _ClassVar[int]
    DIMENSION_FIELD_NUMBER: _ClassVar[int]
    OVERLAPPING_FIELD_NUMBER: _ClassVar[int]
    OWN_STARTS_FIELD_NUMBER: _ClassVar[int]
    pattern: Pattern
    base: Base
    ranks: _containers.RepeatedCompositeFieldContainer[RankRange]
    start_ns: int
    end_ns: int
    spatial: Spatial
    dimension: int
    overlapping: bool
    own_starts: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, pattern: _Optional[_Union[Pattern, _Mapping]] = ..., base: _Optional[_Union[Base, _Mapping]] = ..., ranks: _Optional[_Iterable[_Union[RankRange, _Mapping]]] = ..., start_ns: _Optional[int] = ..., end_ns: _Optional[int] = ..., spatial: _Optional[_Union[Spatial, str]] = ..., dimension: _Optional[int] = ..., overlapping: _Optional[bool] = ..., own_starts: _Optional[_Iterable[int]] = ...) -> None: ...

class GlobalSignature(_message.Message):
    __slots__ = ("file", "processes", "ranks", "patterns", "accesses", "covered", "unmerged", "lost")
    FILE_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    RANKS_FIELD_NUMBER: _ClassVar[int]
    PATTERNS_FIELD_NUMBER: _ClassVar[int]
    ACCESSES_FIELD_NUMBER: _ClassVar[int]
    COVERED_FIELD_NUMBER: _ClassVar[int]
    UNMERGED_FIELD_NUMBER: _ClassVar[int]
    LOST_FIELD_NUMBER: _ClassVar[int]
    file: str
    processes: int
    ranks: _containers.RepeatedCompositeFieldContainer[RankRange]
    patterns: _containers.RepeatedCompositeFieldContainer[GlobalPattern]
    accesses: int
    covered: int
    unmerged: int
    lost: int
    def __init__(self, file: _Optional[str] = ..., processes: _Optional[int] = ..., ranks: _Optional[_Iterable[_Union[RankRange, _Mapping]]] = ..., patterns: _Optional[_Iterable[_Union[GlobalPattern, _Mapping]]] = ..., accesses: _Optional[int] = ..., covered: _Optional[int] = ..., unmerged: _Optional[int] = ..., lost: _Optional[int] = ...) -> None: ...

class Signatures(_message.Message):
    __slots__ = ("version", "operations", "locals", "globals", "zero_ns")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OPERATIONS_FIELD_NUMBER: _ClassVar[int]
    LOCALS_FIELD_NUMBER: _ClassVar[int]
    GLOBALS_FIELD_NUMBER: _ClassVar[int]
    ZERO_NS_FIELD_NUMBER: _ClassVar[int]
    version: int
    operations: _containers.RepeatedCompositeFieldContainer[Operation]
    locals: _containers.RepeatedCompositeFieldContainer[LocalSignature]
    globals: _containers.RepeatedCompositeFieldContainer[GlobalSignature]
    zero_ns: int
    def __init__(self, version: _Optional[int] = ..., operations: _Optional[_Iterable[_Union[Operation, _Mapping]]] = ..., locals: _Optional[_Iterable[_Union[LocalSignature, _Mapping]]] = ..., globals: _Optional[_Iterable[_Union[GlobalSignature, _Mapping]]] = ..., zero_ns: _Optional[int] = ...) -> None: ...
