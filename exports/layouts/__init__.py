"""Layouts: each defines which rows an export has and what their columns are."""

from collections.abc import Callable, Sequence

from exports.layouts import kto, preferences, records, verl
from exports.requests import ExportQuery
from exports.structure import Layout
from scores.results.filters import Selection

OTHERS: dict[str, Callable[[ExportQuery, Selection], Layout]] = {
    "preferences": preferences.PreferencesLayout,
    "kto": kto.KtoLayout,
    "verl": verl.VerlLayout,
}


def layout(query: ExportQuery, selection: Selection, *, names: Sequence[str] | None = None) -> Layout:
    """Return the layout that a checked query names.

    names   of dimensions, if they are fixed already (see records.Records)
    raises  Invalid for errors that only the selection shows, such as too many dimensions
    """
    if query.layout == "records":
        return records.RecordsLayout(query, selection, names)
    return OTHERS[query.layout](query, selection)
