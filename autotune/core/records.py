"""Model instances from the rows of hand-written SELECT statements.

Django composes a query again for each use, which takes longer than PostgreSQL needs to answer a lookup by key. A
statement that every request runs is written once instead, and its rows become the same instances as a queryset's.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

from django.db import connection
from django.db.models import Field, Model


class Record:
    """The columns of one model in a statement that selects them under an alias."""

    def __init__(self, model: type[Model], alias: str) -> None:
        self._model = model
        self._alias = alias
        self._fields: list[Field] = list(model._meta.concrete_fields)
        self._names = [field.attname for field in self._fields]
        self._key = self._fields.index(model._meta.pk)

    def __len__(self) -> int:
        return len(self._fields)

    @property
    def columns(self) -> str:
        """The columns as SQL, such as `k."id", k."name"`."""
        return ", ".join(f'{self._alias}."{field.column}"' for field in self._fields)

    def instance(self, values: Sequence[Any]) -> Any:
        """Return the instance with these values, in the order of `columns`; None where an outer join has no row."""
        if values[self._key] is None:
            return None
        converted = list(values)
        for position, convert in self._converters:
            converted[position] = convert(converted[position])
        return self._model.from_db(connection.alias, self._names, converted)

    @cached_property
    def _converters(self) -> list[tuple[int, Callable[[Any], Any]]]:
        """The columns whose stored values differ from the model's, with their conversions on this engine."""
        return [
            (position, convert)
            for position, field in enumerate(self._fields)
            if (convert := _converter(field)) is not None
        ]


def instances(records: Sequence[Record], row: Sequence[Any]) -> Iterator[Any]:
    """Yield an instance, or None, for each of `records`, whose columns follow each other in the row."""
    start = 0
    for record in records:
        yield record.instance(row[start : start + len(record)])
        start += len(record)


def _converter(field: Field) -> Callable[[Any], Any] | None:
    """Return what turns a stored value of the field into the model's value; None where they are the same."""
    expression = field.get_col(field.model._meta.db_table)  # which knows the type that a foreign key refers to
    steps = connection.ops.get_db_converters(expression) + expression.get_db_converters(connection)
    if not steps:
        return None

    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value, expression, connection)
        return value

    return convert
