"""What makes a cluster on one machine a secured one: an authority, certificates of its nodes, users, their passwords.

Clients and brokers log in by SCRAM over TLS, controllers are met with certificates that the cluster's own authority
gave to its nodes, and access rules decide what may be done. All of it is made at the first start and kept in the
directory `security` beside the nodes; whoever can read that directory is the cluster's administrator.

No password is on a command line: each node has its settings in a file of its own.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Final

from moldau.supervision.authority import Authority
from moldau.supervision.layout import CONTROLLER, HOST, SECURED_CLIENTS, Layout, Place
from moldau.supervision.private_files import properties_text, write_private

MECHANISM: Final = "SCRAM-SHA-512"
ADMIN: Final = "admin"
# Somebody who may do nothing before a rule says so: whoever tries the cluster needs one to try rules with.
GUEST: Final = "alice"
# The nodes among themselves.
NODE: Final = "node"

DIRECTORY: Final = "security"
_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_SECRET_BYTES: Final = 18
_TOKENS: Final = "delegation-tokens"
_SETTINGS: Final = "settings"


class SecuredCluster:
    """Of one directory of nodes; what is missing there is made."""

    def __init__(self, directory: Path, layout: Layout) -> None:
        self.directory = directory / DIRECTORY
        self.directory.mkdir(0o700, parents=True, exist_ok=True)
        self.directory.chmod(0o700)
        self._nodes = directory
        self._layout = layout
        self._authority = Authority(self.directory)
        self.passwords = {name: self._secret(f"{name}.password") for name in (ADMIN, GUEST, NODE)}
        self._tokens = self._secret(f"{_TOKENS}.secret")
        self._settings_key = self._secret(f"{_SETTINGS}.secret")
        for name in (ADMIN, GUEST):
            comment = f"How {name} reaches this cluster. Written at each start of it."
            write_private(self.client_file(name), properties_text(comment, self._client_properties(name)))
        for place in layout.places:
            self._write_node(place)

    @property
    def authority_file(self) -> Path:
        return self._authority.certificate_file

    def client_file(self, user: str) -> Path:
        return self.directory / f"{user}.properties"

    def password_file(self, user: str) -> Path:
        return self.directory / f"{user}.password"

    def node_file(self, place: Place) -> Path:
        return self._node_directory(place) / "server.properties"

    def _node_directory(self, place: Place) -> Path:
        return self._nodes / f"node-{place.id}"

    def _secret(self, name: str) -> str:
        path = self.directory / name
        known = path.read_text().strip() if path.exists() else ""
        if not known:
            known = secrets.token_urlsafe(_SECRET_BYTES)
            write_private(path, known + "\n")
        return known

    def _client_properties(self, user: str) -> dict[str, str]:
        return {
            "bootstrap.servers": ",".join(place.address for place in self._layout.places),
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": _login(user, self.passwords[user]),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": os.path.abspath(self.authority_file),
        }

    def _write_node(self, place: Place) -> None:
        directory = self._node_directory(place)
        directory.mkdir(parents=True, exist_ok=True)
        comment = f"Node {place.id} of this cluster. Written at each start of it."
        properties = {
            **self._layout.settings(place),
            "log.dirs": os.path.abspath(directory / "data"),
            **self._security_settings(place),
        }
        write_private(self.node_file(place), properties_text(comment, properties))

    def _security_settings(self, place: Place) -> dict[str, str]:
        certificate = self._authority.certify(f"{NODE}-{place.id}", ("localhost", HOST))
        controllers = f"listener.name.{CONTROLLER.lower()}"
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": os.path.abspath(certificate),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": os.path.abspath(self.authority_file),
            f"{controllers}.ssl.client.auth": "required",
            # Only nodes: no other name of a certificate means anybody.
            f"{controllers}.ssl.principal.mapping.rules": f"RULE:^CN={NODE}-[0-9]+$/{NODE}/",
            "sasl.enabled.mechanisms": MECHANISM,
            "sasl.mechanism.inter.broker.protocol": MECHANISM,
            f"listener.name.{SECURED_CLIENTS.lower()}.{MECHANISM.lower()}.sasl.jaas.config": _login(
                NODE, self.passwords[NODE]
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{ADMIN};User:{NODE}",
            "delegation.token.secret.key": self._tokens,
            "password.encoder.secret": self._settings_key,
        }


def _login(user: str, password: str) -> str:
    return f'{_MODULE} required username="{user}" password="{password}";'
