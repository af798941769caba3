"""Chance of the clients' own: a program that seeds `random` must not see its numbers used up by our threads."""

from __future__ import annotations

from random import Random

_own = Random()

random = _own.random
randrange = _own.randrange
shuffle = _own.shuffle
