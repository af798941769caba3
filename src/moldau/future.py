"""Futures, under the place they have in kafka-python."""

from __future__ import annotations

from moldau.client.future import Future

__all__ = ["Future"]
