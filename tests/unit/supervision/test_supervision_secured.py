"""What a secured cluster is made of: files nobody else may read, certificates that are made again in time."""

from __future__ import annotations

import datetime
import stat
from pathlib import Path

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from moldau.config.broker import BrokerConfig
from moldau.config.properties import decode_properties
from moldau.supervision import authority
from moldau.supervision.authority import Authority, AuthorityError
from moldau.supervision.layout import LayoutError, read, remembered
from moldau.supervision.private_files import properties_text, write_private, write_public
from moldau.supervision.secured import SecuredCluster


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0")))
def test_values_are_read_as_they_were_written(value: str) -> None:
    text = properties_text("said", {"first": value, "second": "2"})
    assert text.isascii()
    assert decode_properties(text.encode()) == {"first": value, "second": "2"}


def test_nobody_else_ever_reads_a_private_file(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("of another time")
    path.chmod(0o644)
    write_private(path, "new")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", 0o600)
    write_public(path, "told")
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("told", 0o644)
    assert list(tmp_path.iterdir()) == [path]


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_certificates_stay_until_their_end_is_near(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = Authority(tmp_path)
    path = first.certify("node-1", ("localhost", "127.0.0.1"))
    made = certificate(path)
    made.verify_directly_issued_by(certificate(first.certificate_file))
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["localhost"]
    assert [str(name) for name in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]

    again = Authority(tmp_path)
    again.certify("node-1", ("localhost",))
    assert certificate(path) == made
    now = datetime.datetime.now(datetime.UTC)
    monkeypatch.setattr(authority, "_now", lambda: now + datetime.timedelta(days=794))
    again.certify("node-1", ("localhost",))
    assert certificate(path) == made
    monkeypatch.setattr(authority, "_now", lambda: now + datetime.timedelta(days=796))
    again.certify("node-1", ("localhost",))
    assert certificate(path) != made


def test_what_another_authority_vouched_for_is_made_again(tmp_path: Path) -> None:
    path = Authority(tmp_path).certify("node-1", ("localhost",))
    made = certificate(path)
    (tmp_path / "ca.key").unlink()
    new = Authority(tmp_path)
    new.certify("node-1", ("localhost",))
    assert certificate(path) != made
    certificate(path).verify_directly_issued_by(certificate(new.certificate_file))
    path.write_text("nonsense")
    new.certify("node-1", ("localhost",))
    certificate(path).verify_directly_issued_by(certificate(new.certificate_file))


def test_an_authority_that_is_not_one_is_told(tmp_path: Path) -> None:
    Authority(tmp_path)
    key = (tmp_path / "ca.key").read_text()
    (tmp_path / "ca.key").write_text("nonsense")
    with pytest.raises(AuthorityError, match=r"ca\.key is not the key"):
        Authority(tmp_path)
    (tmp_path / "ca.key").write_text(key)
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other").certificate_file.read_text()
    (tmp_path / "ca.pem").write_text(other)
    with pytest.raises(AuthorityError, match="do not belong together"):
        Authority(tmp_path)
    (tmp_path / "ca.pem").write_text("nonsense")
    with pytest.raises(AuthorityError, match=r"ca\.pem is not a certificate"):
        Authority(tmp_path)


def test_a_secured_layout_stays_one(tmp_path: Path) -> None:
    first = remembered(tmp_path / "c", 1, 0, secure=True)
    assert first.secure
    assert remembered(tmp_path / "c", 2, None).secure
    assert read(tmp_path / "c") == remembered(tmp_path / "c", None, None, secure=True)
    assert not remembered(tmp_path / "open", 1, 0).secure
    with pytest.raises(LayoutError, match="holds a cluster that is not secured"):
        remembered(tmp_path / "open", None, None, secure=True)


def test_secrets_are_made_once_and_nodes_take_their_files(tmp_path: Path) -> None:
    layout = remembered(tmp_path, 4, 0, secure=True)
    first = SecuredCluster(tmp_path, layout)
    assert SecuredCluster(tmp_path, layout).passwords == first.passwords
    for place in layout.places:
        config = BrokerConfig.parse(decode_properties(first.node_file(place).read_bytes()))
        assert config.node_id == place.id
        assert config.inter_broker_listener == "SASL_SSL"
        assert config.log_directories == (str(tmp_path / f"node-{place.id}" / "data"),)
        assert str(first.authority_file) == config.for_listener(BrokerConfig.ssl_truststore_location, "CONTROLLER")
        assert config.for_listener(BrokerConfig.ssl_client_auth, "CONTROLLER") == "required"
        assert config.for_listener(BrokerConfig.ssl_client_auth, "SASL_SSL") == "none"
    (first.password_file("alice")).unlink()
    assert SecuredCluster(tmp_path, layout).passwords["alice"] != first.passwords["alice"]
