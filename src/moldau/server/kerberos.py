"""GSSAPI as the settings of a listener have it: the key table and the principal of its JAAS line."""

from __future__ import annotations

from collections.abc import Callable

from moldau.config.broker import BrokerConfig
from moldau.config.definition import ConfigError
from moldau.deferred import Deferred
from moldau.runtime.ports import Runtime, Workers
from moldau.security.gssapi_server import GssapiServer, local_names
from moldau.security.jaas import JaasEntry
from moldau.security.verdict import Reply, ServerMechanism


class OnWorker:
    """A mechanism whose steps take their time; they follow one another, so each may run on another thread."""

    def __init__(self, mechanism: GssapiServer, workers: Workers) -> None:
        self.name = mechanism.name
        self._mechanism = mechanism
        self._workers = workers

    def answer(self, token: bytes) -> Deferred[Reply]:
        answer: Deferred[Reply] = Deferred()

        def done(reply: Reply | None, error: BaseException | None) -> None:
            if reply is None:
                assert error is not None
                answer.fail(error)
            else:
                answer.resolve(reply)

        self._workers.submit(lambda: self._mechanism.answer(token), done)
        return answer


def gssapi_maker(
    listener: str, config: BrokerConfig, runtime: Runtime, entry: JaasEntry
) -> Callable[[], ServerMechanism]:
    principal, key_table = entry.options.get("principal", ""), entry.options.get("keyTab", "")
    where = f"the login of GSSAPI on the listener {listener}"
    service, _, realm = principal.partition("@")
    if not service or not realm or not key_table:
        raise ConfigError(f"{where} needs keyTab, a file, and principal, as SERVICE/HOST@REALM")
    expected = config.for_listener(type(config).sasl_kerberos_service_name, listener)
    if expected is not None and service.partition("/")[0] != expected:
        raise ConfigError(f"{where} is for {principal}, and sasl.kerberos.service.name is {expected}")
    rules = config.for_listener(type(config).sasl_kerberos_principal_to_local_rules, listener)
    try:
        name_of = local_names(list(rules), realm)
        # Tried now: a key table that cannot be read would else be noticed by the first client.
        runtime.network.kerberos(principal, key_table)
    except ValueError as error:
        raise ConfigError(f"sasl.kerberos.principal.to.local.rules cannot be used: {error}") from None
    except OSError as error:
        raise ConfigError(f"{where} cannot be used: {error}") from None
    accept = lambda: runtime.network.kerberos(principal, key_table)  # noqa: E731
    return lambda: OnWorker(GssapiServer(accept, name_of), runtime.workers)
