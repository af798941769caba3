# The twin has the same face, so it is written down once.
from moldau._speed.reference.delivery import Delivery as Delivery
from moldau._speed.reference.delivery import RecordMetadata as RecordMetadata
from moldau._speed.reference.delivery import SentRecord as SentRecord
