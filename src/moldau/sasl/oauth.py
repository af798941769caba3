"""Where tokens come from: derive from this and pass an instance as `sasl_oauth_token_provider`."""

from __future__ import annotations

from moldau.client.sasl import AbstractTokenProvider

__all__ = ["AbstractTokenProvider"]
