# The twin has the same face, so it is written down once.
from moldau._speed.reference.compaction import BatchFilter as BatchFilter
from moldau._speed.reference.compaction import OffsetMap as OffsetMap
