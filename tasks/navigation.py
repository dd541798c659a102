"""The entries of tasks in the navigation."""

from typing import Final

from autotune.access.frame.navigation import NavigationAct, NavigationEntry

PLACES: Final = (
    NavigationEntry("Tasks", "tasks", "task", "Data", 10, (("tasks", "read"),)),
    NavigationAct("Create a task", "task_new", (("tasks", "create"),)),
)
