"""`moldau cluster start --secure`: what the nodes need before they start, and what is told to whoever starts them."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Final

from moldau.cli.failure import USAGE, Failure
from moldau.cli.table import note

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.supervision.layout import Layout
    from moldau.supervision.secured import SecuredCluster

_USAGE: Final = """\
moldau: This cluster lets in who logs in: SASL_SSL, {mechanism}, and this authority: {authority}
  the administrator: {admin} (a file for {config}), password in {password}
  {guest}, who may do nothing before a rule says so: {guest_file}, password in {guest_password}
try:
  moldau topics create rivers {admin_option}
  moldau acls add --user {guest} --producer --topic rivers {admin_option}
  echo vltava | moldau produce rivers --config {guest_file}
  moldau users add bob {admin_option}"""


def node_files(directory: Path, layout: Layout, settings: Mapping[str, str]) -> dict[int, Path]:
    """What each node of a secured cluster reads before `settings`; nothing for others. Makes what is missing."""
    if not layout.secure:
        return {}
    from moldau.cli.start import read_properties
    from moldau.config.broker import BrokerConfig
    from moldau.supervision.secured import SecuredCluster

    cluster = SecuredCluster(directory, layout)
    files = {place.id: cluster.node_file(place) for place in layout.places}
    for place in layout.places:
        if place.controller_port is not None:
            properties = {**read_properties(str(files[place.id])), **settings}
            _format(BrokerConfig.parse(properties), layout.cluster_id, cluster)
    return files


def _format(config: BrokerConfig, cluster_id: str, cluster: SecuredCluster) -> None:
    """Controllers begin with the users that nodes and clients log in as; what is formatted already stays as it is."""
    from moldau.node.formatting import Wanted, format_storage
    from moldau.node.scram_bootstrap import parse_scram
    from moldau.runtime.chance import SystemRandom
    from moldau.runtime.disk import RealDisk
    from moldau.supervision.secured import MECHANISM

    random = SystemRandom()
    users = [
        parse_scram(f'{MECHANISM}=[name="{user}",password="{password}"]', random)
        for user, password in cluster.passwords.items()
    ]
    wanted = Wanted(cluster_id, ignore_formatted=True, scram=users)
    format_storage(config, wanted, RealDisk(), random, time.time_ns() // 1_000_000)


def say_usage(directory: Path, profile: str | None) -> None:
    """On standard error: what is read by programs is the line on standard output."""
    from moldau.supervision.authority import CA
    from moldau.supervision.secured import ADMIN, DIRECTORY, GUEST, MECHANISM

    place = directory / DIRECTORY
    admin = place / f"{ADMIN}.properties"
    note(
        _USAGE.format(
            mechanism=MECHANISM,
            authority=place / CA,
            admin=admin,
            config="--config" if profile is None else f"--config; here also --profile {profile}",
            password=place / f"{ADMIN}.password",
            guest=GUEST,
            guest_file=quote(str(place / f"{GUEST}.properties")),
            guest_password=place / f"{GUEST}.password",
            admin_option=f"--config {quote(str(admin))}" if profile is None else f"--profile {profile}",
        )
    )


def check_profile(name: str, directory: Path, *, secure: bool) -> None:
    """Failure if the name cannot be given, before there is anything of a new cluster."""
    from moldau.cli.connection import shown_profiles
    from moldau.supervision.layout import read

    known = read(directory)
    if not (secure if known is None else known.secure):
        raise Failure("--profile is for a cluster that is started with --secure.", USAGE)
    if "/" in name or not name:
        raise Failure("--profile takes a name, not a path.", USAGE)
    path, target = _profile(name, directory)
    if path.exists() and not (path.is_symlink() and os.readlink(path) == target):
        raise Failure(f"There is another profile {name} in {shown_profiles()}; choose another name.", USAGE)


def name_profile(name: str, directory: Path) -> None:
    """The administrator's file under a name that --profile takes from anywhere. Another one of that name stays."""
    path, target = _profile(name, directory)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _profile(name: str, directory: Path) -> tuple[Path, str]:
    """Where it stands, and what it leads to."""
    from moldau.cli.connection import profiles
    from moldau.supervision.secured import ADMIN, DIRECTORY

    return profiles() / f"{name}.properties", os.path.abspath(directory / DIRECTORY / f"{ADMIN}.properties")
