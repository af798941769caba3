"""The address of an issuer of tokens: it gives them to clients it knows, over HTTP, and keeps what it was asked."""

from __future__ import annotations

import json
import threading
from base64 import b64decode
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs


class TokenEndpoint:
    """`make` is given who asks. `status` and `answer` stand in for a token where they are set."""

    def __init__(self, make: Callable[[str], str], clients: dict[str, str]) -> None:
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.status: int | None = None
        self.answer: bytes | None = None
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                kind, _, login = self.headers["Authorization"].partition(" ")
                name, _, secret = b64decode(login).decode().partition(":")
                endpoint.asked.append((name, form))
                known = kind == "Basic" and clients.get(name) == secret
                status = endpoint.status or (200 if known else 401)
                answer = endpoint.answer
                if answer is None:
                    answer = json.dumps({"access_token": make(name)}).encode() if status == 200 else b"{}"
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                if status == 302:
                    self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
