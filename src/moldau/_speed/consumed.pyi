# The twin has the same face, so it is written down once.
from moldau._speed.reference.consumed import BatchCursor as BatchCursor
from moldau._speed.reference.consumed import ConsumerRecord as ConsumerRecord
