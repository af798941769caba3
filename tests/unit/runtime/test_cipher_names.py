"""Cipher suites are told under the names that the standards, and so Kafka, have for them."""

from __future__ import annotations

import ssl

import pytest

from moldau.runtime.tls_context import _openssl_name, standard_name


@pytest.mark.parametrize(
    ("ours", "standard"),
    [
        ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
        ("ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"),
        ("ECDHE-ECDSA-AES128-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"),
        ("ECDHE-ECDSA-CHACHA20-POLY1305", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"),
        ("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA"),
        ("AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384"),
        ("SOMETHING-NEW", "SOMETHING-NEW"),
    ],
)
def test_names_of_the_standards(ours: str, standard: str) -> None:
    assert standard_name(ours) == standard


def test_every_suite_on_offer_has_a_name_that_the_settings_take() -> None:
    offered = [suite["name"] for suite in ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).get_ciphers()]
    assert len(offered) > 5
    for name in offered:
        assert standard_name(name).startswith("TLS_")
        assert _openssl_name(standard_name(name)) == name
