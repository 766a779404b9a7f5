"""A small HTTP server that serves what a test puts there, and pages as exporters write them."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

U1, U2 = "GPU-11111111-2222-3333-4444-555555555555", "GPU-66666666-7777-8888-9999-000000000000"

UTIL, ENC, DEC = "DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_ENC_UTIL", "DCGM_FI_DEV_DEC_UTIL"
ACTIVE, POWER, ENERGY = (
    "DCGM_FI_PROF_GR_ENGINE_ACTIVE",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION",
)
USED, FREE, XID = "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_XID_ERRORS"
LICENCE = "DCGM_FI_DEV_VGPU_LICENSE_STATUS"


def dcgm(uuid: str = U1, values: Mapping[str, object] | None = None, *, model: str = "Tesla T4", **more: str) -> str:
    """Rows of one card as dcgm-exporter writes them; ``more``: labels."""
    labels = {"gpu": "0", "UUID": uuid, "pci_bus_id": "00000000:00:07.0", "device": "nvidia0", "modelName": model}
    return rows({**labels, "Hostname": "vm-python", **more}, values or {UTIL: 0})


def smi(uuid: str = U1, values: Mapping[str, object] | None = None, *, model: str = "Tesla T4", ok: object = 1) -> str:
    """A page as nvidia_gpu_exporter writes it: the UUID without its beginning."""
    bare = uuid.removeprefix("GPU-")
    info = {"name": model, "uuid": bare, "driver_version": "550.90.07", "pci_bus_id": "00000000:00:07.0"}
    named = {f"nvidia_smi_{k}": v for k, v in (values or {"utilization_gpu_ratio": 0}).items()}
    return (
        rows(info, {"nvidia_smi_gpu_info": 1}) + rows({"uuid": bare}, named) + f"nvidia_smi_last_collect_success {ok}\n"
    )


def rows(labels: Mapping[str, str], values: Mapping[str, object]) -> str:
    told = ",".join(f'{k}="{v}"' for k, v in labels.items())
    return "".join(f"{name}{{{told}}} {value}\n" for name, value in values.items())


@dataclass
class Served:
    """What one path answers."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class Pages:
    """The server's content, and what it was asked."""

    def __init__(self) -> None:
        self.at: dict[str, Served] = {}
        self.asked: list[tuple[str, dict[str, list[str]], dict[str, str]]] = []
        self.url = ""
        self.hold: threading.Event | None = None  # no answer before it is set

    def put(self, path: str, text: str, status: int = 200, **headers: str) -> str:
        """Serve a text there; its address."""
        self.at[path] = Served(text.encode(), status, {k.replace("_", "-"): v for k, v in headers.items()})
        return self.url + path

    def query(self, *series: tuple[str, Mapping[str, str], list[tuple[float, object]]]) -> None:
        """Answer queries as a Prometheus server does."""
        result = [
            {"metric": {"__name__": name, **labels}, "values": [[at, str(value)] for at, value in points]}
            for name, labels, points in series
        ]
        said = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        self.put("/api/v1/query", json.dumps(said))


@contextmanager
def serving() -> Iterator[Pages]:
    """The server, on a free port of loopback."""
    pages = Pages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            split = urlsplit(self.path)
            pages.asked.append((split.path, parse_qs(split.query), {k.lower(): v for k, v in self.headers.items()}))
            if pages.hold is not None:
                pages.hold.wait(30)
            served = pages.at.get(split.path, Served(status=404))
            self.send_response(served.status)
            for name, value in served.headers.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(served.body)
            except OSError:
                pass  # whoever asked has hung up: that is what some tests are about

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    pages.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield pages
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
