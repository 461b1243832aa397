"""All tasks by name."""

from benchmarks.tasks import t1, t2, t3, t4, t5, t6, t7, t8
from benchmarks.tasks.base import Case, Task

TASKS: dict[str, Task] = {module.TASK.name: module.TASK for module in (t1, t2, t3, t4, t5, t6, t7, t8)}
__all__ = ["TASKS", "Case", "Task"]
