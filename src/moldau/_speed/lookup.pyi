from moldau._speed.reference.lookup import entries_before as entries_before
from moldau._speed.reference.lookup import entries_up_to as entries_up_to
