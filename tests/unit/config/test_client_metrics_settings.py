"""Which settings of client metrics there may be; each verdict is Kafka 4.3's ClientMetricsConfigs.validate's."""

from __future__ import annotations

import pytest

from moldau.config.client_metrics import client_metrics_config
from moldau.errors import ErrorCode, KafkaError


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("interval.ms", "100"),
        ("interval.ms", "3600000"),
        ("match", ""),
        ("match", "client_id=a,client_id=b"),
        ("match", " client_id = a.* , client_source_port=1 "),
        ("metrics", ""),
        ("metrics", "a,a"),
        ("metrics", "*,a"),
    ],
)
def test_allowed(name: str, text: str) -> None:
    client_metrics_config({name: text})


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("interval.ms", "99", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "3600001", ErrorCode.INVALID_REQUEST),
        ("interval.ms", "x", ErrorCode.INVALID_CONFIG),
        ("interval", "100", ErrorCode.INVALID_REQUEST),
        ("match", "a=b", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=(", ErrorCode.INVALID_CONFIG),
        ("match", "client_id", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=a=b", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=a,,", ErrorCode.INVALID_CONFIG),
        ("match", "client_id=a{1,2}", ErrorCode.INVALID_CONFIG),
        ("metrics", "a,,b", ErrorCode.INVALID_CONFIG),
        # Of what Java takes: it might look for ever, and the engine here cannot.
        ("match", r"client_id=(a)\1", ErrorCode.INVALID_CONFIG),
        # Of what Java takes: it would hold up everybody to compile this.
        ("match", r"client_id=((\pL{50}){20})", ErrorCode.INVALID_CONFIG),
    ],
)
def test_refused(name: str, text: str, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as refused:
        client_metrics_config({name: text})
    assert refused.value.code == code
    assert refused.value.message
    assert refused.value.message.endswith(".")


def test_defaults_and_what_is_compiled() -> None:
    nothing = client_metrics_config({})
    assert (nothing.metrics, nothing.interval_ms, nothing.match) == ((), 300_000, {})
    match = client_metrics_config({"match": "client_id=a.c,client_software_name=x"}).match
    assert match.keys() == {"client_id", "client_software_name"}
    assert match["client_id"].fullmatch("abc")
    assert not match["client_id"].fullmatch("abcd")
