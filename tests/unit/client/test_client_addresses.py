"""Bootstrap lists as people write them."""

from __future__ import annotations

import pytest

from moldau.links.addresses import Address, AddressError, parse_address, parse_bootstrap


def test_several_addresses_in_order_without_repeats() -> None:
    assert parse_bootstrap("a:1, b:2,a:1,c") == [Address("a", 1), Address("b", 2), Address("c", 9092)]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("[::1]:9093", Address("::1", 9093)),
        ("[::1]", Address("::1", 9092)),
        ("PLAINTEXT://host:1234", Address("host", 1234)),
        ("127.0.0.1:65535", Address("127.0.0.1", 65535)),
    ],
)
def test_forms(text: str, address: Address) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", " , ", ":9092", "host:", "host:abc", "host:0", "host:65536", "::1", "[::1", "[]:1"]
)
def test_what_is_not_an_address_is_named(text: str) -> None:
    with pytest.raises(AddressError, match=r"address|names no broker"):
        parse_bootstrap(text)


def test_port_zero_where_it_is_allowed() -> None:
    assert parse_address("127.0.0.1:0", lowest_port=0) == Address("127.0.0.1", 0)


def test_printed_as_it_is_written() -> None:
    assert str(Address("::1", 9092)) == "[::1]:9092"
    assert str(Address("host", 1)) == "host:1"
