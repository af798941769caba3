"""Broker settings of security: TLS, SASL, principals, authorization, delegation tokens.

Most of them may also be set for one listener, as `listener.name.<name>.<setting>`, and those of SASL for one mechanism
of a listener, as `listener.name.<name>.<mechanism>.<setting>`.
"""

from __future__ import annotations

from typing import Any, Final

from moldau.config.definition import (
    BOOLEAN,
    CLASS,
    DOUBLE,
    HIGH,
    INT,
    LIST,
    LONG,
    LOW,
    MEDIUM,
    PASSWORD,
    PER_BROKER,
    SHORT,
    STRING,
    Allowed,
    Setting,
    at_least,
    between,
    distinct,
    each_of,
    one_of,
    optional,
)

_DAY = 24 * 60 * 60 * 1000

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_AUTHORIZERS: Final[Allowed[Any]] = Allowed(
    f"empty or {STANDARD_AUTHORIZER}", lambda name: name in ("", STANDARD_AUTHORIZER)
)

_STORES: Final[Allowed[str]] = Allowed("PEM, PKCS12 or JKS", lambda name: name.upper() in ("PEM", "PKCS12", "JKS"))
_NAME_CHECKS: Final[Allowed[str]] = Allowed("https or empty", lambda name: name.lower() in ("", "https"))

_VALIDATORS: Final = "org.apache.kafka.common.security.oauthbearer"
SIGNED_TOKENS: Final = (
    f"{_VALIDATORS}.OAuthBearerValidatorCallbackHandler",
    f"{_VALIDATORS}.secured.OAuthBearerValidatorCallbackHandler",
)
UNSIGNED_TOKENS: Final = f"{_VALIDATORS}.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
_TOKEN_VALIDATORS: Final = one_of(*SIGNED_TOKENS, UNSIGNED_TOKENS)

# Settings whose name may follow a SASL mechanism after a listener's prefix.
OF_A_MECHANISM: Final = (
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.server.callback.handler.class",
    "connections.max.reauth.ms",
)


# fmt: off
class SecuritySettings:
    ssl_protocol = Setting("ssl.protocol", STRING, "TLSv1.3", one_of("TLS", "TLSv1.2", "TLSv1.3"), MEDIUM,
        "The newest version of TLS that is spoken; TLS for the newest there is.", PER_BROKER)
    ssl_enabled_protocols = Setting("ssl.enabled.protocols", LIST, ("TLSv1.2", "TLSv1.3"),
        each_of("TLSv1.2", "TLSv1.3", may_be_empty=True), MEDIUM,
        "The versions of TLS that are spoken; all that are safe where it is empty.", PER_BROKER)
    ssl_cipher_suites = Setting("ssl.cipher.suites", LIST, (), distinct(may_be_empty=True), LOW,
        "The cipher suites that are spoken, by their names in the standards; all the TLS library considers good where "
        "it is empty.", PER_BROKER)
    ssl_client_auth = Setting("ssl.client.auth", STRING, "none", one_of("required", "requested", "none"), MEDIUM,
        "Whether clients must, may or need not show a certificate. Set for all listeners it counts on those of SSL "
        "only.", PER_BROKER)
    ssl_keystore_type = Setting("ssl.keystore.type", STRING, "JKS", _STORES, MEDIUM,
        "The format of the key store.", PER_BROKER)
    ssl_keystore_location = Setting("ssl.keystore.location", optional(STRING), None, None, HIGH,
        "The file with the private key and certificate chain of this broker. It is read again when it changes.",
        PER_BROKER)
    ssl_keystore_password = Setting("ssl.keystore.password", optional(PASSWORD), None, None, HIGH,
        "The password of the key store; a store of PEM has none.", PER_BROKER)
    ssl_key_password = Setting("ssl.key.password", optional(PASSWORD), None, None, HIGH,
        "The password of the private key.", PER_BROKER)
    ssl_keystore_key = Setting("ssl.keystore.key", optional(PASSWORD), None, None, HIGH,
        "The private key itself, in PEM.", PER_BROKER)
    ssl_keystore_certificate_chain = Setting("ssl.keystore.certificate.chain", optional(PASSWORD), None, None, HIGH,
        "The certificate chain itself, in PEM.", PER_BROKER)
    ssl_truststore_type = Setting("ssl.truststore.type", STRING, "JKS", _STORES, MEDIUM,
        "The format of the trust store.", PER_BROKER)
    ssl_truststore_location = Setting("ssl.truststore.location", optional(STRING), None, None, HIGH,
        "The file with the certificates that are trusted. It is read again when it changes; without one those are "
        "trusted that the operating system trusts.", PER_BROKER)
    ssl_truststore_password = Setting("ssl.truststore.password", optional(PASSWORD), None, None, HIGH,
        "The password of the trust store; a store of PEM has none.", PER_BROKER)
    ssl_truststore_certificates = Setting("ssl.truststore.certificates", optional(PASSWORD), None, None, HIGH,
        "The trusted certificates themselves, in PEM.", PER_BROKER)
    ssl_endpoint_identification_algorithm = Setting(
        "ssl.endpoint.identification.algorithm", STRING, "https", _NAME_CHECKS, LOW,
        "Whether a connection between nodes checks the host name in the certificate; empty for no check.", PER_BROKER)
    ssl_principal_mapping_rules = Setting("ssl.principal.mapping.rules", STRING, "DEFAULT", None, LOW,
        "How the distinguished name of a certificate becomes a user name; the first rule that fits counts.")
    ssl_allow_dn_changes = Setting("ssl.allow.dn.changes", BOOLEAN, False, None, LOW,
        "Whether a new certificate may carry another distinguished name than the one it replaces.")
    ssl_allow_san_changes = Setting("ssl.allow.san.changes", BOOLEAN, False, None, LOW,
        "Whether a new certificate may lack names or addresses of the one it replaces.")

    sasl_enabled_mechanisms = Setting("sasl.enabled.mechanisms", LIST, ("GSSAPI",), distinct(may_be_empty=True), MEDIUM,
        "The SASL mechanisms clients may use. GSSAPI is the default.", PER_BROKER)
    sasl_mechanism_inter_broker_protocol = Setting(
        "sasl.mechanism.inter.broker.protocol", STRING, "GSSAPI", None, MEDIUM,
        "The SASL mechanism brokers use among themselves.")
    sasl_mechanism_controller_protocol = Setting("sasl.mechanism.controller.protocol", STRING, "GSSAPI", None, HIGH,
        "The SASL mechanism nodes use towards controllers.")
    sasl_jaas_config = Setting("sasl.jaas.config", optional(PASSWORD), None, None, MEDIUM,
        "The login of a mechanism in the format of JAAS; on a listener it carries the listener's and the mechanism's "
        "prefix.", PER_BROKER)
    sasl_server_max_receive_size = Setting("sasl.server.max.receive.size", INT, 512 << 10, None, MEDIUM,
        "The largest message of a client during authentication.")
    connections_max_reauth_ms = Setting("connections.max.reauth.ms", LONG, 0, None, MEDIUM,
        "How long an authentication lasts before the client must renew it; 0 for as long as the connection.")
    sasl_server_callback_handler_class = Setting(
        "sasl.server.callback.handler.class", optional(CLASS), None, _TOKEN_VALIDATORS, MEDIUM,
        "How tokens of OAUTHBEARER are judged: by Kafka's names of the validator of signed tokens, which is what the "
        "address of keys means by itself, or of the one that believes unsigned ones.")
    sasl_kerberos_service_name = Setting("sasl.kerberos.service.name", optional(STRING), None, None, MEDIUM,
        "The first part of the Kerberos principal of brokers, which clients ask for; that of the key table must fit.",
        PER_BROKER)
    sasl_kerberos_principal_to_local_rules = Setting(
        "sasl.kerberos.principal.to.local.rules", LIST, ("DEFAULT",), None, MEDIUM,
        "How a Kerberos principal becomes a user name; the first rule that fits counts.", PER_BROKER)
    sasl_oauthbearer_scope_claim_name = Setting("sasl.oauthbearer.scope.claim.name", STRING, "scope", None, LOW,
        "The claim of a token that holds its scope.")
    sasl_oauthbearer_sub_claim_name = Setting("sasl.oauthbearer.sub.claim.name", STRING, "sub", None, LOW,
        "The claim of a token that holds its subject.")
    sasl_oauthbearer_jwks_endpoint_url = Setting(
        "sasl.oauthbearer.jwks.endpoint.url", optional(STRING), None, None, MEDIUM,
        "Where the keys that tokens are checked with are found.")
    sasl_oauthbearer_jwks_endpoint_refresh_ms = Setting(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms", LONG, 3_600_000, None, LOW,
        "How often those keys are fetched again.")
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms = Setting(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", LONG, 100, None, LOW,
        "The first pause after a failure to fetch them.")
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms = Setting(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", LONG, 10_000, None, LOW,
        "The longest pause after a failure to fetch them.")
    sasl_oauthbearer_clock_skew_seconds = Setting("sasl.oauthbearer.clock.skew.seconds", INT, 30, None, LOW,
        "How far the clocks of broker and token issuer may differ.")
    sasl_oauthbearer_expected_audience = Setting(
        "sasl.oauthbearer.expected.audience", LIST, (), distinct(may_be_empty=True), LOW,
        "The audiences one of which a token must name; one that names any is refused where it is empty.")
    sasl_oauthbearer_expected_issuer = Setting("sasl.oauthbearer.expected.issuer", optional(STRING), None, None, LOW,
        "The issuer a token must come from; any where it is not set.")

    sasl_oauthbearer_token_endpoint_url = Setting(
        "sasl.oauthbearer.token.endpoint.url", optional(STRING), None, None, MEDIUM,
        "Where nodes get the tokens they log in with at each other: a file (file:), or an issuer that is asked with "
        "the credentials of a client.")
    sasl_oauthbearer_client_credentials_client_id = Setting(
        "sasl.oauthbearer.client.credentials.client.id", optional(STRING), None, None, MEDIUM,
        "Who the node is to the issuer of tokens; clientId of the login module where it is not set.")
    sasl_oauthbearer_client_credentials_client_secret = Setting(
        "sasl.oauthbearer.client.credentials.client.secret", optional(PASSWORD), None, None, MEDIUM,
        "What it proves that with; clientSecret of the login module where it is not set.")
    sasl_oauthbearer_scope = Setting("sasl.oauthbearer.scope", optional(STRING), None, None, MEDIUM,
        "What the tokens shall be good for; scope of the login module where it is not set.")
    sasl_oauthbearer_header_urlencode = Setting("sasl.oauthbearer.header.urlencode", BOOLEAN, False, None, MEDIUM,
        "Whether the client's id and secret are escaped as in an address before they stand in a header.")
    sasl_login_connect_timeout_ms = Setting("sasl.login.connect.timeout.ms", optional(INT), None, None, LOW,
        "How long reaching the issuer of tokens may take; ten seconds where it is not set.")
    sasl_login_read_timeout_ms = Setting("sasl.login.read.timeout.ms", optional(INT), None, None, LOW,
        "How long its answer may take beyond that; ten seconds where it is not set.")
    sasl_login_refresh_window_factor = Setting(
        "sasl.login.refresh.window.factor", DOUBLE, 0.8, between(0.5, 1.0), LOW,
        "The share of a token's life after which another is had.", PER_BROKER)
    sasl_login_refresh_window_jitter = Setting(
        "sasl.login.refresh.window.jitter", DOUBLE, 0.05, between(0.0, 0.25), LOW,
        "The share of it that is added at random.", PER_BROKER)
    sasl_login_refresh_min_period_seconds = Setting(
        "sasl.login.refresh.min.period.seconds", SHORT, 60, between(0, 900), LOW,
        "How long a token is kept at least, if it lives for longer than this and the buffer.", PER_BROKER)
    sasl_login_refresh_buffer_seconds = Setting(
        "sasl.login.refresh.buffer.seconds", SHORT, 300, between(0, 3600), LOW,
        "How long before its end another is had at the latest, under the same condition.", PER_BROKER)
    sasl_login_retry_backoff_ms = Setting("sasl.login.retry.backoff.ms", LONG, 100, None, LOW,
        "The first pause after a failure to get a token.")
    sasl_login_retry_backoff_max_ms = Setting("sasl.login.retry.backoff.max.ms", LONG, 10_000, None, LOW,
        "The longest pause after a failure to get a token.")

    authorizer_class_name = Setting("authorizer.class.name", STRING, "", _AUTHORIZERS, LOW,
        "The authorizer; without one everybody may do everything.")
    super_users = Setting("super.users", STRING, "", None, MEDIUM,
        "The principals that may do everything, separated by semicolons; read if there is an authorizer.")
    allow_everyone_if_no_acl_found = Setting("allow.everyone.if.no.acl.found", BOOLEAN, False, None, MEDIUM,
        "Whether a resource without any rule is open to all; read if there is an authorizer.")
    principal_builder_class = Setting(
        "principal.builder.class", CLASS, "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
        one_of("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"), MEDIUM,
        "How a principal is made from a connection; only Kafka's own way is known here.", PER_BROKER,
        no_effect="there is no other to choose")

    password_encoder_secret = Setting("password.encoder.secret", optional(PASSWORD), None, None, MEDIUM,
        "What the secrets of this broker that are set while it runs are encrypted with in the cluster's metadata; "
        "without it none can be set.")
    password_encoder_old_secret = Setting("password.encoder.old.secret", optional(PASSWORD), None, None, LOW,
        "The secret before this one: what was encrypted with it can still be read.")
    delegation_token_secret_key = Setting("delegation.token.secret.key", optional(PASSWORD), None, None, MEDIUM,
        "The secret delegation tokens are signed with, the same on all nodes; without it there are none.")
    delegation_token_max_lifetime_ms = Setting("delegation.token.max.lifetime.ms", LONG, 7 * _DAY, at_least(1), MEDIUM,
        "How long a delegation token may be renewed.")
    delegation_token_expiry_time_ms = Setting("delegation.token.expiry.time.ms", LONG, _DAY, at_least(1), MEDIUM,
        "How long a delegation token lasts unless it is renewed.")
    delegation_token_expiry_check_interval_ms = Setting(
        "delegation.token.expiry.check.interval.ms", LONG, 3_600_000, at_least(1), LOW,
        "How often expired delegation tokens are removed.")
