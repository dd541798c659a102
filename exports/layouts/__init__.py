"""Layouts: which rows an export has, and what their columns are."""

from collections.abc import Callable, Sequence

from exports.layouts import kto, preferences, records, verl
from exports.requests import ExportQuery
from exports.structure import Layout
from scores.results.filters import Selection

OTHERS: dict[str, Callable[[ExportQuery, Selection], Layout]] = {
    "preferences": preferences.Preferences,
    "kto": kto.Kto,
    "verl": verl.Verl,
}


def layout(query: ExportQuery, selection: Selection, *, names: Sequence[str] | None = None) -> Layout:
    """The layout that a checked query names.

    names   of dimensions, where they are settled already (see records.Records)
    raises  Invalid for what can only be seen in the selection, such as too many dimensions
    """
    if query.layout == "records":
        return records.Records(query, selection, names)
    return OTHERS[query.layout](query, selection)
