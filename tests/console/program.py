"""What is no browser: sends what it likes."""

from __future__ import annotations

import http.client
import re
from urllib.parse import urlencode


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.cookies = dict(
            re.findall(r"([\w-]+)=([^;]+)", "; ".join(v for n, v in response.getheaders() if n.lower() == "set-cookie"))
        )
        self.text = response.read().decode()


class Program:
    def __init__(self, address: str) -> None:
        self.netloc = address.removeprefix("http://")
        self.port = self.netloc.rpartition(":")[2]
        self.session = ""

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        connection = http.client.HTTPConnection(self.netloc, timeout=90)
        try:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if self.session:
                sent["Cookie"] = f"moldau-console-{self.port}={self.session}"
            connection.request(method, path, body, sent)
            answer = Answer(connection.getresponse())
        finally:
            connection.close()
        self.session = answer.cookies.get(f"moldau-console-{self.port}", self.session)
        return answer

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        headers.setdefault("Content_Type", "application/x-www-form-urlencoded")
        return self.ask("POST", path, urlencode(fields).encode(), **headers)

    def mark(self, path: str = "/topics/new") -> str:
        found = re.search(r'name="mark" value="(\w+)"', self.get(path).text)
        assert found is not None
        return found[1]
