"""The files in `deploy/`, as those read them that they are for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from moldau.config.properties import parse_properties

ROOT = Path(__file__).resolve().parents[1]
DEPLOY = ROOT / "deploy"
IMAGE_FILE = DEPLOY / "container" / "server.properties"
BASE = DEPLOY / "kubernetes" / "base"


def settings_of_the_image() -> dict[str, str]:
    return parse_properties(IMAGE_FILE.read_text())


def read(path: Path) -> Any:
    yaml = pytest.importorskip("yaml", reason="the extra moldau[spark] brings it, which these tests can do without")
    return yaml.safe_load(path.read_text())


def resources() -> dict[str, Any]:
    return {name: read(BASE / name) for name in read(BASE / "kustomization.yaml")["resources"]}


def container() -> Any:
    (found,) = read(BASE / "stateful-set.yaml")["spec"]["template"]["spec"]["containers"]
    return found


def variables(ordinal: int) -> dict[str, str]:
    """As Kubernetes would set them for a pod, in their order: later ones may name earlier ones."""
    (made,) = read(BASE / "kustomization.yaml")["configMapGenerator"]
    literals = {made["name"]: dict(literal.split("=", 1) for literal in made["literals"])}
    fields = {
        "metadata.name": f"moldau-{ordinal}",
        "metadata.namespace": "default",
        "metadata.labels['apps.kubernetes.io/pod-index']": str(ordinal),
    }
    found: dict[str, str] = {}
    for each in container()["env"]:
        if "value" in each:
            value = re.sub(r"\$\((\w+)\)", lambda name: found[name[1]], each["value"])
        elif "fieldRef" in each["valueFrom"]:
            value = fields[each["valueFrom"]["fieldRef"]["fieldPath"]]
        else:
            key = each["valueFrom"]["configMapKeyRef"]
            value = literals[key["name"]][key["key"]]
        found[each["name"]] = value
    return found
