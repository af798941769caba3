"""State that can be taken back, and answers that wait until it no longer can be.

A state machine over a replicated log changes its memory when it appends, before the records are committed. If the
append fails or another leader takes over, that change never happened. `SnapshotRegistry` remembers how to undo what
came after an offset, `TimelineMap`, `TimelineSet` and `TimelineValue` hold the state, and `DeferredEventQueue` parks
the answers until their offset is committed. A `Decision` is what an operation on such a state returns. The controller
stands on it, and so do the coordinators.
"""

from moldau.timeline.decision import Decision
from moldau.timeline.deferred_queue import DeferredEventQueue
from moldau.timeline.snapshots import SnapshotRegistry
from moldau.timeline.state import TimelineMap, TimelineSet, TimelineValue

__all__ = ["Decision", "DeferredEventQueue", "SnapshotRegistry", "TimelineMap", "TimelineSet", "TimelineValue"]
