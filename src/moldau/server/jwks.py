"""The keys that tokens are checked with: from a file or an address, kept, and fetched again before they are too old.

Keys that are there are used while newer ones are fetched, also when that fails; the next try waits, longer each time. A
token signed with a key that is not known makes for a try ahead of time, but not more than one in ten seconds: anybody
can write such a token.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from moldau.deferred import Deferred, failed, ready
from moldau.runtime.ports import Runtime
from moldau.security.jws import VerificationKey, parse_keys

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig

logger = logging.getLogger("moldau.server")

_FETCH_SECONDS: Final = 10.0
_MOST_BYTES: Final = 1 << 20
_AHEAD_OF_TIME_SECONDS: Final = 10.0
_FILE: Final = "file://"

Keys = list[VerificationKey]


class VerificationKeys:
    def __init__(self, url: str, config: BrokerConfig, runtime: Runtime) -> None:
        self._url = url
        self._runtime = runtime
        self._refresh = config.sasl_oauthbearer_jwks_endpoint_refresh_ms / 1000
        self._first_pause = config.sasl_oauthbearer_jwks_endpoint_retry_backoff_ms / 1000
        self._longest_pause = config.sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms / 1000
        self._keys: Keys | None = None
        self._loading: Deferred[Keys] | None = None
        self._failures = 0
        self._begun_at = 0.0
        # When the next try may be, and when one is due.
        self._not_before = 0.0
        self._due = 0.0

    def get(self) -> Deferred[Keys]:
        """Those that are there, or fails with an OSError or ValueError."""
        now = self._runtime.clock.monotonic()
        if now >= self._due and now >= self._not_before and self._loading is None:
            self._load(now)
        if self._keys is not None:
            return ready(self._keys)
        if self._loading is not None:
            return self._loading
        return failed(OSError(f"{self._url} could not be read just now"))

    def newer(self) -> Deferred[Keys] | None:
        """After a key was missed: those that are fetched for it; None if it is too soon for that."""
        now = self._runtime.clock.monotonic()
        if self._loading is not None:
            return self._loading
        if now < self._not_before or now - self._begun_at < _AHEAD_OF_TIME_SECONDS:
            return None
        return self._load(now)

    def _load(self, now: float) -> Deferred[Keys]:
        self._begun_at = now
        loading: Deferred[Keys] = Deferred()
        self._loading = loading

        def done(keys: Keys | None, error: BaseException | None) -> None:
            self._loading = None
            if keys is not None:
                self._keys, self._failures = keys, 0
                self._due = self._runtime.clock.monotonic() + self._refresh
                loading.resolve(keys)
                return
            assert error is not None
            pause = min(self._first_pause * 2**self._failures, self._longest_pause)
            self._failures = min(self._failures + 1, 30)
            self._not_before = self._runtime.clock.monotonic() + pause
            logger.error("the keys of tokens at %s cannot be used: %s", self._url, error)
            loading.fail(OSError(f"{self._url} could not be read just now"))

        self._runtime.workers.submit(self._read, done)
        return loading

    def _read(self) -> Keys:
        if self._url.startswith(_FILE):
            path = self._url.removeprefix(_FILE)
            if self._runtime.disk.size(path) > _MOST_BYTES:
                raise OSError(f"it is longer than {_MOST_BYTES} bytes")
            return parse_keys(self._runtime.disk.read_file(path))
        return parse_keys(self._runtime.network.fetch(self._url, seconds=_FETCH_SECONDS, most_bytes=_MOST_BYTES))
