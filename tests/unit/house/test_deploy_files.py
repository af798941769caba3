"""What is in `deploy/`, and the Dockerfile, against the product: every option, setting, port, path and bound that they
name is one that it has. (That nodes start so is seen by `tests/compat/test_deployed.py`.)"""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy_files import BASE, DEPLOY, IMAGE_FILE, ROOT, container, read, resources, settings_of_the_image, variables
from moldau.cli.environment_settings import environment_settings
from moldau.cli.main import build_parser
from moldau.config.broker import BrokerConfig

# What a stop takes at most, as docs/DURABILITY.md has it.
STOP_AT_MOST = 75


def is_accepted(words: list[str]) -> bool:
    """Whether `moldau WORDS` is a command line."""
    try:
        build_parser(words[0], alone=True).parse_args(words)
    except SystemExit:
        return False
    return True


def port_of(address: str) -> int:
    return int(address.rpartition(":")[2])


# ----------------------------------------------------------------------------------------------------------- container


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"\\\n", "", re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE))
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in text.splitlines() if line.strip()]


def of_the_image(name: str) -> str:
    """The last instruction of that name: those of earlier stages do not count."""
    return [text for instruction, text in instructions() if instruction == name][-1]


def words_of(text: str) -> list[str]:
    return re.findall(r'"([^"]*)"', text)


def test_what_the_image_runs_is_a_command_line() -> None:
    assert words_of(of_the_image("ENTRYPOINT")) == ["moldau"]
    words = words_of(of_the_image("CMD"))
    assert is_accepted(words)
    assert f"COPY {IMAGE_FILE.relative_to(ROOT)} {words[1]}" in [" ".join(each) for each in instructions()]
    assert not is_accepted([*words, "--environment"])


def test_the_image_copies_what_is_there_and_nothing_that_is_ignored() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [
        source
        for name, text in instructions()
        if name == "COPY" and "--from=" not in text
        for source in [word for word in text.split() if not word.startswith("--")][:-1]
    ]
    assert copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert any(source == each or source.startswith(f"{each}/") for each in kept), source


def test_the_image_listens_where_it_says() -> None:
    config = BrokerConfig.parse(settings_of_the_image())
    exposed = {int(port) for port in of_the_image("EXPOSE").split()}
    assert {config.broker_endpoints[0].port, port_of(config.metrics_listener)} <= exposed
    assert of_the_image("STOPSIGNAL") == "SIGTERM"


def test_the_image_writes_below_its_volume_and_as_nobody_in_particular() -> None:
    volume = of_the_image("VOLUME")
    assert all(place.startswith(f"{volume}/") for place in BrokerConfig.parse(settings_of_the_image()).log_directories)
    user, group = of_the_image("USER").split(":")
    made = " ".join(text for name, text in instructions() if name == "RUN")
    assert f"--uid {user}" in made
    assert f"--gid {group}" in made
    assert int(user) > 0


# ------------------------------------------------------------------------------------------------------------- systemd

UNIT = DEPLOY / "systemd" / "moldau.service"


def service() -> configparser.SectionProxy:
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    return unit["Service"]


def test_the_unit_starts_and_ends_a_node() -> None:
    program, *words = service()["ExecStart"].split()
    assert program.endswith("/bin/moldau")
    assert is_accepted(words)
    assert service()["Type"] == "notify"  # see tests/unit/runtime/test_service_manager.py
    assert service()["KillSignal"] == "SIGTERM"
    assert int(service()["TimeoutStopSec"]) > STOP_AT_MOST


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed; on Debian: apt-get install systemd")
    unit = tmp_path / UNIT.name
    # It looks whether the program is there.
    unit.write_text(UNIT.read_text().replace("/opt/moldau/bin/moldau", str(Path(sys.executable).parent / "moldau")))
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name in line]) == (0, [])


# ---------------------------------------------------------------------------------------------------------- Kubernetes


def config_of(ordinal: int) -> BrokerConfig:
    return BrokerConfig.parse(settings_of_the_image() | environment_settings(variables(ordinal)))


def test_every_variable_is_a_setting_with_a_value_that_it_may_have() -> None:
    configs = [config_of(ordinal) for ordinal in range(3)]
    assert [config.node_id for config in configs] == [0, 1, 2]
    assert all(config.is_broker and config.is_controller for config in configs)
    assert not [remark for config in configs for remark in config.remarks]


def test_nodes_find_each_other_and_clients_find_them() -> None:
    stateful = read(BASE / "stateful-set.yaml")
    name, nodes = stateful["metadata"]["name"], stateful["spec"]["serviceName"]
    assert nodes == read(BASE / "headless-service.yaml")["metadata"]["name"]
    for ordinal in range(stateful["spec"]["replicas"]):
        settings = environment_settings(variables(ordinal))
        assert f"{ordinal}@{name}-{ordinal}.{nodes}:9093" in settings["controller.quorum.voters"].split(",")
        assert settings["advertised.listeners"] == f"PLAINTEXT://{name}-{ordinal}.{nodes}.default.svc:9092"


def test_the_ports_of_pods_and_services_are_those_of_the_node() -> None:
    config = config_of(0)
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    assert ports == {
        "clients": config.broker_endpoints[0].port,
        "controllers": config.controller_endpoints[0].port,
        "metrics": port_of(config.metrics_listener),
    }
    for service in ("headless-service.yaml", "service.yaml"):
        for port in read(BASE / service)["spec"]["ports"]:
            assert port["port"] == ports[port["targetPort"]] == ports[port["name"]]
    annotations = read(BASE / "stateful-set.yaml")["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == str(ports["metrics"])


def test_pods_are_selected_by_the_labels_they_have() -> None:
    found = resources()
    stateful = found["stateful-set.yaml"]["spec"]
    labels = stateful["template"]["metadata"]["labels"]
    pod = stateful["template"]["spec"]
    affinity = pod["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    terms = [
        stateful["selector"],
        found["disruption-budget.yaml"]["spec"]["selector"],
        *(term["labelSelector"] for term in [*affinity, *pod["topologySpreadConstraints"]]),
    ]
    assert all(term == {"matchLabels": labels} for term in terms)
    assert all(found[name]["spec"]["selector"] == labels for name in ("service.yaml", "headless-service.yaml"))


def test_one_may_be_away_and_has_the_time_to_leave() -> None:
    spec = read(BASE / "stateful-set.yaml")["spec"]
    settings = environment_settings(variables(0))
    away = read(BASE / "disruption-budget.yaml")["spec"]["maxUnavailable"]
    voters = len(settings["controller.quorum.voters"].split(","))
    assert voters == spec["replicas"]
    assert voters - away > voters / 2
    assert int(settings["default.replication.factor"]) - away >= int(settings["min.insync.replicas"])
    before = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert spec["template"]["spec"]["terminationGracePeriodSeconds"] > before + STOP_AT_MOST


def test_data_lie_on_the_claim_and_nothing_else_is_written() -> None:
    spec = read(BASE / "stateful-set.yaml")["spec"]
    claims = {each["metadata"]["name"] for each in spec["volumeClaimTemplates"]}
    (place,) = [mount["mountPath"] for mount in container()["volumeMounts"] if mount["name"] in claims]
    assert all(directory.startswith(f"{place}/") for directory in config_of(0).log_directories)
    assert place == of_the_image("VOLUME")
    assert container()["securityContext"]["readOnlyRootFilesystem"]
    user = spec["template"]["spec"]["securityContext"]
    assert of_the_image("USER") == f"{user['runAsUser']}:{user['runAsGroup']}"


def test_the_example_changes_what_the_base_has() -> None:
    example = DEPLOY / "kubernetes" / "example" / "kustomization.yaml"
    changes = read(example)
    assert [(example.parent / each).resolve() for each in changes["resources"]] == [BASE]
    assert changes["images"][0]["name"] == container()["image"].split(":")[0]
    made = read(BASE / "kustomization.yaml")["configMapGenerator"]
    assert [each["name"] for each in changes["configMapGenerator"]] == [each["name"] for each in made]
