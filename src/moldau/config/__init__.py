"""Typed settings with Kafka's names, types, defaults and rules; see `broker` and `topic` for the tables."""

from __future__ import annotations
