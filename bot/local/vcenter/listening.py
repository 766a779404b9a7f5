"""A threading HTTP server that can be stopped whole: it knows its open connections and closes them."""

from __future__ import annotations

import http.server
import socket
import threading
from typing import Any


class Listening(http.server.ThreadingHTTPServer):
    """Base of the API's and the drive's server."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, address: tuple[str, int], handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        """Bound at once; port 0 takes a free one."""
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._serving = False
        super().__init__(address, handler)

    @property
    def port(self) -> int:
        """The port that it got."""
        return int(self.server_address[1])

    def serve_forever(self, poll_interval: float = 0.05) -> None:
        """Serve until ``close``."""
        self._serving = True
        super().serve_forever(poll_interval)

    def wrap(self, raw: socket.socket) -> socket.socket:
        """What to do with a fresh connection, in the accepting thread: must not wait."""
        return raw

    def get_request(self) -> tuple[Any, Any]:
        """Take a connection and remember it."""
        raw, address = super().get_request()
        raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer costs a delayed ack
        connection = self.wrap(raw)
        with self._guard:
            self._open.add(connection)
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        """Close one connection."""
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients come and go; mistakes of ours are answered and logged by the handlers."""

    def close(self) -> None:
        """Stop serving, end every connection, free the port."""
        if self._serving:  # else there is no loop that would say that it has ended
            self.shutdown()
        self.server_close()
        with self._guard:
            left = list(self._open)
        for connection in left:
            try:
                # Past TLS, which would first take off its layer: what a handler writes meanwhile would go out in the clear.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            except OSError:
                pass  # already gone
