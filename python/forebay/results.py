"""Several results of one kind: a list, and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from forebay.notebook import Shown

if TYPE_CHECKING:
    import pandas
    import pyarrow


class _Result(Protocol):
    def to_json(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=_Result)


class Results(Shown, list[R]):
    """A list of results. As a table it has a row per result, with the columns of their
    `to_json()`."""

    __slots__ = ()

    def to_json(self) -> list[dict[str, Any]]:
        """Plain values."""
        return [one.to_json() for one in self]

    def to_arrow(self) -> pyarrow.Table:
        """The results as an Arrow table. Raises ImportError without pyarrow."""
        import pyarrow as pa

        return pa.Table.from_pylist(self.to_json())

    def to_pandas(self) -> pandas.DataFrame:
        """The results as a data frame. Raises ImportError without pandas."""
        import pandas as pd

        return pd.DataFrame(self.to_json())
