from moldau._speed.reference.compaction import BatchFilter as BatchFilter
from moldau._speed.reference.compaction import OffsetMap as OffsetMap
