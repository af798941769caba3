"""Certificates for tests, made by the openssl command in a second: an authority, a node, a client, and a stranger."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")

# What `openssl ca` wants to know before it makes a list of revoked certificates.
_REGISTER = """[ca]
default_ca = authority
[authority]
database = {directory}/register
default_md = sha256
default_crl_days = 2
"""


class Certificates:
    """`ca` vouches for `node` (127.0.0.1 and localhost) and `client`; nobody here knows `stranger`.

    The client's key is locked with `password`. `revoked` lists the node's certificate as no longer valid.
    """

    password = "locked away"

    def __init__(self, directory: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("certificates are made with the openssl command, which is not installed")
        self.directory = directory
        self.ca, self._ca_key = self._authority("ca")
        self.stranger, _ = self._authority("stranger")
        self.node, self.node_key = self._issue("node", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        self.elsewhere, self.elsewhere_key = self._issue("elsewhere", "subjectAltName=DNS:elsewhere.invalid")
        self.client, self.client_key = self._issue("client", password=self.password)

    def revoked(self) -> Path:
        register, listed = self.directory / "register", self.directory / "revoked.pem"
        register.touch()
        configuration = self.directory / "register.cnf"
        configuration.write_text(_REGISTER.format(directory=self.directory))
        for words in (("-revoke", str(self.node)), ("-gencrl", "-out", str(listed))):
            authority = ("-config", str(configuration), "-cert", str(self.ca), "-keyfile", str(self._ca_key))
            self._openssl("ca", *authority, *words)
        return listed

    def _authority(self, name: str) -> tuple[Path, Path]:
        certificate, key = self._files(name)
        self._openssl("req", "-x509", *_KEY, "-nodes", "-keyout", key, "-out", certificate, "-subj", f"/CN={name}")
        return certificate, key

    def _issue(self, name: str, extension: str | None = None, password: str | None = None) -> tuple[Path, Path]:
        certificate, key = self._files(name)
        request = self.directory / f"{name}.csr"
        lock = ("-passout", f"pass:{password}") if password else ("-nodes",)
        named = ("-addext", extension) if extension else ()
        self._openssl("req", *_KEY, *lock, "-keyout", key, "-out", request, "-subj", f"/CN={name}", *named)
        signed = ("-CA", self.ca, "-CAkey", self._ca_key, "-CAcreateserial", "-copy_extensions", "copyall")
        self._openssl("x509", "-req", "-in", request, *signed, "-out", certificate)
        return certificate, key

    def _files(self, name: str) -> tuple[Path, Path]:
        return self.directory / f"{name}.pem", self.directory / f"{name}.key"

    def _openssl(self, *words: object) -> None:
        done = subprocess.run(["openssl", *map(str, words)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
