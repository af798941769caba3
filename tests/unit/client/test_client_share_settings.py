"""Settings of a share consumer: what the group decides, and what means nothing to it, is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from moldau.client.share.settings import read_settings
from moldau.errors import MoldauError

GIVEN = {"group_id": "g", "bootstrap_servers": "127.0.0.1:9092"}


def test_what_is_given_stands_among_the_defaults() -> None:
    config = read_settings({**GIVEN, "share_acknowledgement_mode": "explicit"})
    assert (config["group_id"], config["share_acknowledgement_mode"]) == ("g", "explicit")
    assert config["share_acquire_mode"] == "batch_optimized"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"session_timeout_ms": 1}, "session_timeout_ms is a setting of the share group: share.session.timeout.ms"),
        ({"heartbeat_interval_ms": 1}, "is a setting of the share group: share.heartbeat.interval.ms"),
        ({"enable_auto_commit": True}, "enable_auto_commit has no meaning for a member of a share group"),
        ({"group_instance_id": "i"}, "group_instance_id has no meaning"),
        ({"group_id": ""}, "A share consumer needs a group_id"),
        ({"share_acknowledgement_mode": "sometimes"}, "share_acknowledgement_mode"),
        ({"share_acquire_mode": "sometimes"}, "share_acquire_mode"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises((MoldauError, ValueError), match=sentence):
        read_settings({**GIVEN, **given})
