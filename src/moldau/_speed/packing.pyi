# The twin has the same face, so it is written down once.
from moldau._speed.reference.packing import RowPacker as RowPacker
