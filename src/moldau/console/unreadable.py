"""Bytes that are not what they were taken for."""

from __future__ import annotations

from moldau.errors import MoldauError


class Unreadable(MoldauError):
    """Its text says where the bytes stop making sense."""
