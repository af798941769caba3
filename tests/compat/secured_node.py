"""A node that lets nobody in without SASL, beside a listener without for what a test prepares."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from typing import Any

from node_process import MOLDAU, NodeProcess, StartNode

MODULES = "org.apache.kafka.common.security"
PLAIN = f'{MODULES}.plain.PlainLoginModule required user_jan="secret" user_eva="other \\"word\\"";'
SCRAM = f"{MODULES}.scram.ScramLoginModule required;"


def sasl_settings(mechanisms: str = "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512", **more: str) -> dict[str, str]:
    return {
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "offsets.topic.num.partitions": "2",
        "group.initial.rebalance.delay.ms": "0",
        "listener.name.sasl.sasl.enabled.mechanisms": mechanisms,
        "listener.name.sasl.plain.sasl.jaas.config": PLAIN,
        "listener.name.sasl.scram-sha-256.sasl.jaas.config": SCRAM,
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": SCRAM,
        **more,
    }


class SecuredNode:
    """`open` is the address of the listener without SASL, `bootstrap` of the one with it."""

    def __init__(self, start_node: StartNode, settings: Mapping[str, str]) -> None:
        self.process: NodeProcess = start_node(settings)
        self.open, self.bootstrap = self.process.bootstrap.split(",")

    def users(self, *arguments: str, given: str = "", at: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(MOLDAU), "users", *arguments, "--bootstrap", at or self.open],
            input=given,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def add_user(self, name: str, password: str, *options: str) -> None:
        done = self.users("add", name, "--new-password-file", "-", *options, given=password + "\n")
        assert done.returncode == 0, done.stderr


def confluent(bootstrap: str, mechanism: str, user: str, password: str, ca: str | None = None) -> dict[str, Any]:
    """What librdkafka and kcat are told; with `ca` over TLS."""
    return {
        "bootstrap.servers": bootstrap,
        **(
            {"security.protocol": "SASL_PLAINTEXT"}
            if ca is None
            else _over_tls("security.protocol", "ssl.ca.location", ca)
        ),
        "sasl.mechanism": mechanism,
        "sasl.username": user,
        "sasl.password": password,
    }


def kafka_python(bootstrap: str, mechanism: str, user: str, password: str, ca: str | None = None) -> dict[str, Any]:
    """What kafka-python, aiokafka and our clients are told; with `ca` over TLS."""
    return {
        "bootstrap_servers": bootstrap,
        **({"security_protocol": "SASL_PLAINTEXT"} if ca is None else _over_tls("security_protocol", "ssl_cafile", ca)),
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def _over_tls(protocol: str, trusted: str, ca: str) -> dict[str, Any]:
    return {protocol: "SASL_SSL", trusted: ca}
