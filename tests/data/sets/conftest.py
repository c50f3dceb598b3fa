import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class FileServer:
    """Serves bytes by path; can break off, ignore ranges, and remembers the ranges asked for."""

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    break_after: int | None = None
    ignore_ranges: bool = False
    ranges: list[str | None] = field(default_factory=list)

    def respond(self, request: BaseHTTPRequestHandler) -> None:
        body = self.files.get(request.path.lstrip("/"))
        asked = request.headers.get("Range")
        self.ranges.append(asked)
        if body is None:
            request.send_error(404)
            return
        start = int(asked[len("bytes=") : -1]) if asked and not self.ignore_ranges else 0
        if start and start >= len(body):
            request.send_error(416)
            return
        request.send_response(206 if start else 200)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        request.send_header("Content-Length", str(len(body) - start))
        request.end_headers()
        request.wfile.write(body[start : self.break_after])


@pytest.fixture
def server() -> Iterator[FileServer]:
    files = FileServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            files.respond(self)

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        files.url = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield files
        http.shutdown()
        thread.join()
