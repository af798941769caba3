"""Who may come in: hosts, forged requests, sizes, the login, read-only; and what every answer carries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from console_process import ConsoleProcess
from program import Program

from moldau import KafkaAdminClient
from moldau.console.gate import Sessions, TooManyTries
from moldau.testing import Cluster


def test_every_answer_is_closed_to_scripts_and_frames_of_others(program: Program) -> None:
    for path in ("/", "/static/console.css", "/no-such-page"):
        policy = program.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
    page = program.get("/").text
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=|https?://(?!www\.w3\.org)", page)


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.evil.example"])
def test_a_name_that_is_not_the_consoles_is_refused(program: Program, host: str) -> None:
    answer = program.get("/", Host=host)
    assert answer.status in (400, 421)
    assert "Overview" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_addresses_and_this_machine_are_taken(program: Program, host: str) -> None:
    assert program.get("/live", Host=f"{host}:{program.port}").status == 200


def test_a_form_without_the_mark_of_its_session_changes_nothing(program: Program, admin: KafkaAdminClient) -> None:
    mark = program.mark()
    assert program.post("/topics/new", {"name": "forged"}).status == 403
    assert program.post("/topics/new", {"name": "forged", "mark": mark[::-1]}).status == 403
    stranger = Program(f"http://{program.netloc}")
    assert stranger.post("/topics/new", {"name": "forged", "mark": mark}).status == 403
    assert "forged" not in admin.list_topics()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "null"},
    ],
)
def test_a_form_sent_by_a_page_of_somebody_elses_is_refused(program: Program, headers: dict[str, str]) -> None:
    assert program.post("/topics/new", {"name": "forged", "mark": program.mark()}, **headers).status == 403


def test_what_is_too_large_or_no_form_is_refused(program: Program) -> None:
    assert program.ask("POST", "/topics/new", b"x", Content_Length="99999999").status == 413
    assert program.post("/topics/new", {}, Content_Type="application/json").status == 415
    assert program.post("/topics/new", {str(number): "" for number in range(3000)}).status == 400
    assert program.ask("PUT", "/topics/new").status == 405


def test_read_only_shows_and_changes_nothing(cluster: Cluster, admin: KafkaAdminClient) -> None:
    with ConsoleProcess(cluster.bootstrap_servers, "--read-only") as console:
        program = Program(console.address)
        assert "New topic" not in program.get("/topics").text
        answer = program.post("/topics/new", {"name": "forbidden", "mark": program.mark()})
        assert answer.status == 403
        assert "read-only" in answer.text
    assert "forbidden" not in admin.list_topics()


def test_who_comes_from_elsewhere_logs_in(cluster: Cluster, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("vltava at night\n")
    with ConsoleProcess(cluster.bootstrap_servers, "--login-file", str(secret)) as console:
        assert "vltava" not in console.first_line
        program = Program(console.address)
        for path in ("/", "/topics", "/topics/new"):
            answer = program.get(path)
            assert (answer.status, answer.headers["location"].partition("?")[0]) == (303, "/login")
        assert (
            program.post("/topics/new", {"name": "x", "mark": program.mark("/login")})
            .headers["location"]
            .startswith("/login")
        )
        wrong = program.post("/login", {"password": "moldau", "mark": program.mark("/login")})
        assert wrong.status == 403
        before = program.session
        right = program.post(
            "/login", {"password": "vltava at night", "next": "/topics", "mark": program.mark("/login")}
        )
        assert (right.status, right.headers["location"]) == (303, "/topics")
        assert program.session != before  # a session that somebody else may have planted is not the one that is inside
        assert "Topics" in program.get("/topics").text
        assert (
            program.post(
                "/login", {"password": "vltava at night", "next": "//evil.example", "mark": program.mark("/topics/new")}
            ).headers["location"]
            == "/"
        )
        program.post("/logout", {"mark": program.mark("/topics/new")})
        assert program.get("/topics").status == 303
        tries = [program.post("/login", {"password": "no", "mark": program.mark("/login")}).status for _ in range(10)]
        assert tries[-1] == 429


def test_who_guesses_keeps_nobody_else_out() -> None:
    sessions = Sessions("vltava at night")
    for _ in range(8):
        assert sessions.enter("no", "192.0.2.1") is None
    with pytest.raises(TooManyTries):
        sessions.enter("vltava at night", "192.0.2.1")
    session = sessions.enter("vltava at night", "192.0.2.2")
    assert session is not None
    assert sessions.is_inside(session)
    # From very many addresses is another matter.
    for number in range(192):
        assert sessions.enter("no", f"198.51.100.{number}") is None
    with pytest.raises(TooManyTries):
        sessions.enter("vltava at night", "192.0.2.2")


def test_a_token_is_printed_where_others_can_reach_it(cluster: Cluster) -> None:
    with ConsoleProcess(cluster.bootstrap_servers, "--listen", "0.0.0.0:0") as console:
        assert console.entrance.startswith("/login#")
        program = Program(console.address)
        assert program.get("/topics").status == 303
        token = console.entrance.partition("#")[2]
        assert program.post("/login", {"password": token, "mark": program.mark("/login")}).status == 303
        assert program.get("/topics").status == 200


def test_it_ends_in_order(cluster: Cluster) -> None:
    console = ConsoleProcess(cluster.bootstrap_servers)
    assert console.stop() == 0
