# The twin has the same face, so it is written down once.
from moldau._speed.reference.accumulator import Accumulator as Accumulator
from moldau._speed.reference.accumulator import Lane as Lane
from moldau._speed.reference.accumulator import murmur2 as murmur2
