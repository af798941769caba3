"""A campaign notes every outcome, goes on where it was interrupted, and does not lose sight of what failed."""

from __future__ import annotations

import json
import logging
from argparse import ArgumentParser
from pathlib import Path

import pytest

from moldau.cli import simulate
from moldau.cli.failure import Failure
from moldau.simulation import campaign
from moldau.simulation.cluster_scenario import ClusterReport
from moldau.simulation.ledger import Broken
from moldau.simulation.world import Violation, World


class Clusters:
    """In the place of those that take seconds each."""

    def __init__(self, *broken: int) -> None:
        self.broken = set(broken)
        self.ran: list[int] = []

    def run(self, seed: int, **form: float) -> ClusterReport:
        self.ran.append(seed)
        if seed in self.broken:
            raise Broken("loss: on purpose")
        return ClusterReport(seconds=1800.0, acknowledged=10, transactions=2, faults=["kill", "kill", "pause"])


def _simulate(*arguments: str) -> None:
    parser = ArgumentParser()
    simulate.configure(parser)
    options = parser.parse_args(arguments)
    options.run(options)


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Clusters:
    found = Clusters()
    monkeypatch.setattr(campaign, "run_cluster", found.run)
    monkeypatch.setattr(simulate, "show_log", lambda level: None)
    return found


def test_a_campaign_goes_on_where_it_was_interrupted(
    clusters: Clusters, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.jsonl"
    _simulate("--seeds", "1:4", "--minutes", "30", "--results", str(results))
    _simulate("--seeds", "1:6", "--minutes", "30", "--results", str(results))
    assert clusters.ran == [1, 2, 3, 4, 5]
    assert [json.loads(line)["seed"] for line in results.read_text().splitlines()] == clusters.ran
    told = capsys.readouterr().out.splitlines()[-1]
    assert told.startswith("5 seeds, 2.50 simulated hours")
    assert "0 failures; 50 records acknowledged, 10 transactions, 0 elections, 15 faults (kill 10, pause 5)" in told


def test_another_form_is_another_campaign(clusters: Clusters, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    for minutes in ("30", "10"):
        _simulate("--seeds", "1:3", "--minutes", minutes, "--results", str(results))
    assert clusters.ran == [1, 2, 1, 2]


def test_a_failure_ends_nothing_and_is_tried_again(clusters: Clusters, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    clusters.broken = {2}
    with pytest.raises(Failure, match=r"seed 2: Broken: loss: on purpose.*--seed 2 --nodes 3 --minutes 30"):
        _simulate("--seeds", "1:4", "--minutes", "30", "--results", str(results))
    assert clusters.ran == [1, 2, 3]
    clusters.broken = set()
    _simulate("--seeds", "1:4", "--minutes", "30", "--results", str(results))
    assert clusters.ran == [1, 2, 3, 2]


def test_a_file_of_somebody_else_is_left_alone(clusters: Clusters, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    results.write_text("not a line of ours\n")
    with pytest.raises(Failure, match="no campaign wrote"):
        _simulate("--seeds", "1:3", "--results", str(results))
    assert clusters.ran == []


def test_two_processes_come_to_the_same_as_one(tmp_path: Path) -> None:
    found = []
    for processes in ("1", "2"):
        results = tmp_path / processes
        _simulate(
            "--seeds", "1:3", "--faults", "1", "--requests", "3", "--results", str(results), "--processes", processes
        )
        lines = [json.loads(line) for line in results.read_text().splitlines()]
        found.append({line["seed"]: (line["seconds"], line["acknowledged"], line["faults"]) for line in lines})
    assert found[0] == found[1]


def test_a_traceback_is_found_though_no_log_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    root = logging.getLogger()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", logging.NOTSET)
    campaign.show_log(logging.CRITICAL + 1)
    with World(1) as world:
        try:
            raise ValueError("on purpose")
        except ValueError:
            logging.getLogger("moldau.server").exception("surprised")
        with pytest.raises(Violation, match="surprised"):
            world.check()


def test_a_program_with_handlers_of_its_own_keeps_them_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = logging.NullHandler()
    monkeypatch.setattr(logging.getLogger(), "handlers", [theirs])
    campaign.show_log(logging.CRITICAL + 1)
    assert logging.getLogger().handlers == [theirs]
    assert theirs.level == logging.NOTSET
