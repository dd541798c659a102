"""The same on the embedded default: SQLite, messages as files, one worker."""

from dataclasses import replace

from ..report import Result
from ..stage import Stage
from .kills import kills


def embedded(stage: Stage, result: Result) -> None:
    sizes = stage.sizes
    small = replace(sizes, completions=sizes.embedded, kills=sizes.embedded_kills)
    kills(replace(stage, sizes=small), result)
