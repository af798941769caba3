"""`moldau storage`: directories formatted as Kafka's tool does it, refused where that would do harm, and shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moldau.cli.main import main
from moldau.config.broker import BrokerConfig
from moldau.metadata.credentials import credential_from_record
from moldau.node.bootstrap import read_bootstrap
from moldau.protocol.messages.kraft_version_record import KRaftVersionRecord
from moldau.protocol.messages.user_scram_credential_record import UserScramCredentialRecord
from moldau.protocol.messages.voters_record import VotersRecord
from moldau.protocol.records import ControlType, control_type, decode_batch, scan_batches
from moldau.runtime.disk import RealDisk
from moldau.security.scram import credential_of, make_credential
from moldau.storage.log_dirs import MetaProperties, read_meta_properties
from moldau.types import uuid_from_text

CLUSTER = "q1Sh-9_ISia_zwGINzRvyQ"
OTHER = "5L6g3nShT-eMCtK--X86sw"
STATIC = (
    "process.roles=broker,controller",
    "node.id=1",
    "controller.listener.names=CONTROLLER",
    "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
)
DYNAMIC = (*STATIC, "controller.quorum.bootstrap.servers=127.0.0.1:9093")
VOTERS = (*STATIC, "controller.quorum.voters=1@127.0.0.1:9093,2@127.0.0.1:9094")
BROKER = (
    "process.roles=broker",
    "node.id=1",
    "controller.listener.names=CONTROLLER",
    "listeners=PLAINTEXT://127.0.0.1:9092",
    "controller.quorum.bootstrap.servers=127.0.0.1:9093",
)


def storage(command: str, data: Path, settings: tuple[str, ...], *options: str) -> int:
    given = [word for setting in settings for word in ("--set", setting)]
    return main(["storage", command, "--data", str(data), *given, *options])


def format_as(data: Path, settings: tuple[str, ...], *options: str, cluster: str = CLUSTER) -> int:
    return storage("format", data, settings, "--cluster-id", cluster, *options)


def meta(directory: Path) -> MetaProperties:
    found = read_meta_properties(RealDisk(), str(directory))
    assert found is not None
    return found


def levels(directory: Path) -> dict[str, int]:
    records = read_bootstrap(RealDisk(), str(directory))
    return {record.name: record.feature_level for record in records}  # type: ignore[attr-defined]


def voters(directory: Path) -> tuple[int, VotersRecord] | None:
    path = directory / "__cluster_metadata-0" / "00000000000000000000-0000000000.checkpoint"
    if not path.exists():
        return None
    data = path.read_bytes()
    batches = scan_batches(data, 0, len(data), check_crc=True)
    records = decode_batch(data, 0, batches[0].size)
    assert [control_type(record) for record in records] == [
        ControlType.SNAPSHOT_HEADER,
        ControlType.KRAFT_VERSION,
        ControlType.KRAFT_VOTERS,
    ]
    version = KRaftVersionRecord.decode(records[1].value or b"", 0).kraft_version
    return version, VotersRecord.decode(records[2].value or b"", 0)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    return captured.out + captured.err


# ------------------------------------------------------------------------------------------------------------- format


def test_a_node_with_fixed_voters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    settings = (*VOTERS, f"log.dirs={first},{second}")
    assert storage("format", tmp_path / "unused", settings, "--cluster-id", CLUSTER) == 0
    assert "metadata directory" in said(capsys)
    for directory in (first, second):
        assert (meta(directory).cluster_id, meta(directory).node_id) == (CLUSTER, 1)
    assert meta(first).directory_id != meta(second).directory_id
    assert levels(first) == {
        "metadata.version": 30,
        "transaction.version": 2,
        "group.version": 1,
        "eligible.leader.replicas.version": 1,
        "share.version": 1,
        "streams.version": 1,
    }
    # Only the directory of the metadata has what the cluster begins with.
    assert not (second / "bootstrap.checkpoint").exists()
    assert voters(first) is None


def test_the_metadata_may_have_a_directory_of_its_own(tmp_path: Path) -> None:
    settings = (*VOTERS, f"metadata.log.dir={tmp_path / 'm'}")
    assert format_as(tmp_path / "d", settings) == 0
    assert levels(tmp_path / "m")
    assert not (tmp_path / "d" / "bootstrap.checkpoint").exists()
    assert meta(tmp_path / "d").directory_id != meta(tmp_path / "m").directory_id


def test_a_controller_that_begins_alone(tmp_path: Path) -> None:
    assert format_as(tmp_path, DYNAMIC, "--standalone") == 0
    found = voters(tmp_path)
    assert found is not None
    version, record = found
    assert version == 1
    (voter,) = record.voters
    assert (voter.voter_id, voter.voter_directory_id) == (1, meta(tmp_path).directory_id)
    assert [(e.name, e.host, e.port) for e in voter.endpoints] == [("CONTROLLER", "127.0.0.1", 9093)]
    assert (voter.kraft_version_feature.min_supported_version, voter.kraft_version_feature.max_supported_version) == (
        0,
        1,
    )


def test_several_controllers_that_begin_together(tmp_path: Path) -> None:
    text = f"1@127.0.0.1:9093:{OTHER},2@[::1]:9094:{CLUSTER}"
    assert format_as(tmp_path, DYNAMIC, "--initial-controllers", text) == 0
    found = voters(tmp_path)
    assert found is not None
    assert [(v.voter_id, v.endpoints[0].host, v.endpoints[0].port) for v in found[1].voters] == [
        (1, "127.0.0.1", 9093),
        (2, "::1", 9094),
    ]
    # The directory is the one that the others were told of.
    assert meta(tmp_path).directory_id == uuid_from_text(OTHER)


def test_a_controller_that_joins_later(tmp_path: Path) -> None:
    assert format_as(tmp_path, DYNAMIC, "--no-initial-controllers") == 0
    assert voters(tmp_path) is None
    assert meta(tmp_path).cluster_id == CLUSTER


def test_a_broker(tmp_path: Path) -> None:
    assert format_as(tmp_path, BROKER) == 0
    assert meta(tmp_path).node_id == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ["--release-version", "4.2-IV1"],
            {
                "metadata.version": 29,
                "transaction.version": 2,
                "group.version": 1,
                "eligible.leader.replicas.version": 1,
                "share.version": 1,
                "streams.version": 1,
            },
        ),
        (
            ["--release-version", "4.1-IV0"],
            {
                "metadata.version": 26,
                "transaction.version": 2,
                "group.version": 1,
                "eligible.leader.replicas.version": 1,
            },
        ),
        (["--release-version", "4.0"], {"metadata.version": 25, "transaction.version": 2, "group.version": 1}),
        (["--release-version", "4.0-IV1"], {"metadata.version": 23, "group.version": 1}),
        (["--release-version", "3.9"], {"metadata.version": 21}),
        (["--feature", "metadata.version=22"], {"metadata.version": 22, "group.version": 1}),
        (
            ["--feature", "transaction.version=1", "-f", "group.version=0"],
            {
                "metadata.version": 30,
                "transaction.version": 1,
                "eligible.leader.replicas.version": 1,
                "share.version": 1,
                "streams.version": 1,
            },
        ),
        (
            ["--feature", "eligible.leader.replicas.version=0"],
            {
                "metadata.version": 30,
                "transaction.version": 2,
                "group.version": 1,
                "share.version": 1,
                "streams.version": 1,
            },
        ),
    ],
)
def test_levels_that_were_asked_for(tmp_path: Path, options: list[str], expected: dict[str, int]) -> None:
    assert format_as(tmp_path, VOTERS, *options) == 0
    assert levels(tmp_path) == expected


@pytest.mark.parametrize(
    ("settings", "options", "sentence"),
    [
        (DYNAMIC, [], "who votes first"),
        (DYNAMIC, ["--standalone", "--no-initial-controllers"], "exclude each other"),
        (VOTERS, ["--standalone"], "controller.quorum.voters names them"),
        ((), ["--standalone"], "it is standalone"),
        (BROKER, ["--standalone"], "a broker only"),
        (DYNAMIC, ["--initial-controllers", f"2@h:1:{OTHER}"], "must name this node"),
        (DYNAMIC, ["--initial-controllers", f"1@h:1:{OTHER},1@h:2:{CLUSTER}"], "the same id twice"),
        (DYNAMIC, ["--initial-controllers", f"1@h:1:{OTHER},2@h:2:{OTHER}"], "the same directory id twice"),
        (DYNAMIC, ["--initial-controllers", "1@h:1"], "ID@HOST:PORT:DIRECTORY-ID"),
        (DYNAMIC, ["--initial-controllers", f"1@h:70000:{OTHER}"], "ID@HOST:PORT:DIRECTORY-ID"),
        (DYNAMIC, ["--initial-controllers", ","], "names nobody"),
        (VOTERS, ["--release-version", "9.9"], "no release"),
        (VOTERS, ["--release-version", "3.0"], "no release"),
        (VOTERS, ["--feature", "no.such=1"], "not a feature"),
        (VOTERS, ["--feature", "metadata.version=99"], "from 7 to 30"),
        (VOTERS, ["--feature", "metadata.version"], "NAME=VALUE"),
        (VOTERS, ["--feature", "metadata.version=high"], "NAME=LEVEL"),
        (VOTERS, ["--feature", "metadata.version=22", "--release-version", "4.0"], "exclude each other"),
        (VOTERS, ["--feature", "kraft.version=1"], "kraft.version is 1 with"),
        (DYNAMIC, ["--feature", "kraft.version=0", "--standalone"], "kraft.version is 1 with"),
    ],
)
def test_what_cannot_be_formatted_like_this(
    tmp_path: Path,
    settings: tuple[str, ...],
    options: list[str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    try:
        status = format_as(tmp_path, settings, *options)
    except SystemExit as end:
        status = int(str(end.code))
    assert status in (1, 2)
    assert sentence in said(capsys)
    assert not (tmp_path / "meta.properties").exists()


def test_a_controller_that_cannot_say_where_it_is_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = (*DYNAMIC[:3], "listeners=PLAINTEXT://:9092,CONTROLLER://:9093", DYNAMIC[4])
    assert format_as(tmp_path, settings, "--standalone") == 1
    assert "advertised.listeners" in said(capsys)


def test_what_is_formatted_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert format_as(tmp_path, VOTERS) == 0
    before = meta(tmp_path)
    assert format_as(tmp_path, VOTERS) == 1
    assert "--ignore-formatted" in said(capsys)
    assert format_as(tmp_path, VOTERS, "--ignore-formatted") == 0
    assert "formatted already" in said(capsys)
    assert meta(tmp_path) == before
    assert format_as(tmp_path, VOTERS, "--ignore-formatted", cluster=OTHER) == 1
    assert f"of cluster {CLUSTER}" in said(capsys)


def test_logs_of_nobody_knows_whom_are_not_taken_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "orders-0").mkdir()
    assert format_as(tmp_path, VOTERS) == 1
    assert "nobody knows whose" in said(capsys)
    assert not (tmp_path / "bootstrap.checkpoint").exists()


def test_settings_come_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("\n".join((*VOTERS, f"log.dirs={tmp_path / 'd'}")))
    assert main(["storage", "format", "-t", CLUSTER, "-c", str(file)]) == 0
    assert meta(tmp_path / "d").cluster_id == CLUSTER
    assert BrokerConfig.parse(dict(line.split("=", 1) for line in file.read_text().splitlines())).node_id == 1


# --------------------------------------------------------------------------------------------------------------- info


def test_info_shows_whose_the_directories_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert format_as(tmp_path, VOTERS) == 0
    said(capsys)
    assert storage("info", tmp_path, VOTERS) == 0
    shown = said(capsys)
    assert f"cluster.id={CLUSTER}" in shown
    assert "node.id=1" in shown
    assert storage("info", tmp_path, VOTERS, "--json") == 0
    assert json.loads(said(capsys))["directories"][str(tmp_path)]["cluster.id"] == CLUSTER


def test_info_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert storage("info", tmp_path / "none", VOTERS) == 1
    assert "does not exist" in said(capsys)
    assert storage("info", tmp_path, VOTERS) == 1
    assert "is not formatted" in said(capsys)
    (tmp_path / "meta.properties").write_text("version=1\n")
    assert storage("info", tmp_path, VOTERS) == 1
    assert "lacks" in said(capsys)
    (tmp_path / "meta.properties").unlink()
    assert format_as(tmp_path, VOTERS) == 0
    said(capsys)
    assert storage("info", tmp_path, (*VOTERS, "node.id=2")) == 1
    assert "belongs to node 1" in said(capsys)


def test_random_ids_are_ids_and_differ(capsys: pytest.CaptureFixture[str]) -> None:
    made = set()
    for _ in range(3):
        assert main(["storage", "random-uuid"]) == 0
        text = capsys.readouterr().out.strip()
        assert len(uuid_from_text(text)) == 16
        made.add(text)
    assert len(made) == 3


# ---------------------------------------------------------------------------------------------------- the first users

SALTED = 'SCRAM-SHA-256=[name=eva,iterations=8192,salt="c2FsdA==",saltedpassword="YWJj"]'


def first_users(directory: Path) -> dict[tuple[str, int], UserScramCredentialRecord]:
    records = read_bootstrap(RealDisk(), str(directory))
    return {(each.name, each.mechanism): each for each in records if isinstance(each, UserScramCredentialRecord)}


def test_the_first_users_are_part_of_the_bootstrap(tmp_path: Path) -> None:
    secret = tmp_path / "jan.scram"
    secret.write_text('SCRAM-SHA-512=[name=jan,password="a,b]c"]\n')
    assert format_as(tmp_path / "d", VOTERS, "--add-scram", f"@{secret}", "-S", SALTED) == 0
    users = first_users(tmp_path / "d")
    jan, eva = users[("jan", 2)], users[("eva", 1)]
    assert credential_from_record(jan) == make_credential("SCRAM-SHA-512", "a,b]c", jan.salt, 4096)
    assert len(jan.salt) == 24
    assert credential_from_record(eva) == credential_of("SCRAM-SHA-256", b"abc", b"salt", 8192)
    assert b"a,b" not in (tmp_path / "d" / "bootstrap.checkpoint").read_bytes()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("hidden", "is written MECHANISM="),
        ("SCRAM-SHA-1=[name=jan,password=hidden]", "knows SCRAM-SHA-256 and SCRAM-SHA-512"),
        ("SCRAM-SHA-256=[password=hidden]", "needs the name"),
        ("SCRAM-SHA-256=[name=jan]", "either the password or the saltedpassword"),
        ("SCRAM-SHA-256=[name=jan,password=]", "not empty"),
        ("SCRAM-SHA-256=[name=jan,password=hidden,saltedpassword=YWJj]", "either the password or the saltedpassword"),
        ("SCRAM-SHA-256=[name=jan,saltedpassword=YWJj]", "needs the salt"),
        ("SCRAM-SHA-256=[name=jan,saltedpassword=?,salt=YWJj]", "the saltedpassword in base64"),
        ("SCRAM-SHA-256=[name=jan,password=hidden,salt=]", "the salt in base64"),
        ("SCRAM-SHA-256=[name=jan,password=hidden,iterations=4095]", "from 4096 to 16384 iterations"),
        ("SCRAM-SHA-256=[name=jan,password=hidden,iterations=99999999999]", "from 4096 to 16384 iterations"),
        ("SCRAM-SHA-256=[name=jan,password=hidden,secret=x]", "takes each of"),
        ("SCRAM-SHA-256=[name=jan,name=eva,password=hidden]", "takes each of"),
    ],
)
def test_first_users_that_are_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, sentence: str
) -> None:
    assert format_as(tmp_path / "d", VOTERS, "--add-scram", given) == 1
    said = capsys.readouterr().err
    assert sentence in said
    assert "hidden" not in said
    assert not (tmp_path / "d" / "meta.properties").exists()


def test_first_users_the_cluster_cannot_have(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert format_as(tmp_path / "d", VOTERS, "-S", SALTED, "-S", SALTED) == 1
    assert "eva twice for the same mechanism" in capsys.readouterr().err
    assert format_as(tmp_path / "d", VOTERS, "-S", SALTED, "--release-version", "3.4") == 1
    assert "3.5-IV2" in capsys.readouterr().err
