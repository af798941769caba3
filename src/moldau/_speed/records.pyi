# The twin has the same face, so it is written down once.
from moldau._speed.reference.records import Record as Record
from moldau._speed.reference.records import RecordsSummary as RecordsSummary
from moldau._speed.reference.records import RecordWalk as RecordWalk
from moldau._speed.reference.records import check_records as check_records
from moldau._speed.reference.records import decode_records as decode_records
from moldau._speed.reference.records import open_batch as open_batch
