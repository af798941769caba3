"""A Kerberos realm on this machine, from Debian's krb5-kdc and krb5-admin-server, for as long as a test needs it.

The programs are looked for on the PATH, in /usr/sbin and below MOLDAU_KERBEROS, where packages may be unpacked that are
not installed (`dpkg -x krb5-kdc_*.deb DIRECTORY`, and so on with krb5-admin-server, krb5-user and the libraries they
name).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from moldau.supervision.layout import hold_ports

REALM = "MOLDAU.TEST"
_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_PATIENCE = 20.0


def _unpacked() -> Path | None:
    given = os.environ.get("MOLDAU_KERBEROS")
    return None if given is None else Path(given)


def _path() -> str:
    root = _unpacked()
    own = [] if root is None else [f"{root}/usr/sbin", f"{root}/usr/bin"]
    return os.pathsep.join([*own, os.environ.get("PATH", ""), "/usr/sbin"])


def missing() -> str | None:
    """What a realm lacks on this machine."""
    absent = [name for name in _PROGRAMS if shutil.which(name, path=_path()) is None]
    if absent:
        return f"{', '.join(absent)}: install Debian's krb5-kdc, krb5-admin-server and krb5-user, or see kerberos_realm"
    return None


class Realm:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        root = _unpacked()
        place = "" if root is None else str(root)
        (port,) = hold_ports(1)
        (directory / "krb5.conf").write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_canonicalize_hostname = false\n"
            f" rdns = false\n udp_preference_limit = 1\n default_ccache_name = FILE:{directory}/ccache\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n"
        )
        (directory / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {directory}/principal\n  key_stash_file = {directory}/stash\n"
            f"  acl_file = {directory}/kadm5.acl\n  max_life = 1h\n }}\n"
            f"[dbmodules]\n db_module_dir = {place}/usr/lib/x86_64-linux-gnu/krb5/plugins/kdb\n"
            f"[logging]\n kdc = FILE:{directory}/kdc.log\n"
        )
        libraries = [] if root is None else [f"{root}/usr/lib/x86_64-linux-gnu"]
        plugins = {} if root is None else {"SASL_PATH": f"{root}/usr/lib/x86_64-linux-gnu/sasl2"}
        packages = [] if root is None else [f"{root}/usr/lib/python3/dist-packages"]
        self.environment = {
            "PATH": _path(),
            "KRB5_CONFIG": str(directory / "krb5.conf"),
            "KRB5_KDC_PROFILE": str(directory / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{directory}/ccache",
            "LD_LIBRARY_PATH": os.pathsep.join([*libraries, os.environ.get("LD_LIBRARY_PATH", "")]),
            "PYTHONPATH": os.pathsep.join([*packages, os.environ.get("PYTHONPATH", "")]),
            **plugins,
        }
        self.run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._kdc = subprocess.Popen(
            ["krb5kdc", "-n", "-r", REALM],
            env={**os.environ, **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the key distribution centre did not start")

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, env={**os.environ, **self.environment}, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{command[0]}: {done.stderr or done.stdout}"
        return done.stdout

    def add(self, principal: str) -> Path:
        """A key table with its key."""
        table = self.directory / f"{principal.replace('/', '_')}.keytab"
        self.run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}")
        self.run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {table} {principal}")
        return table

    def log_in(self, principal: str, table: Path) -> None:
        self.run("kinit", "-k", "-t", str(table), f"{principal}@{REALM}")

    def close(self) -> None:
        self._kdc.kill()
        self._kdc.wait()
