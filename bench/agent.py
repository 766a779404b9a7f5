"""What the agent of a guest costs: its share of one core, and its memory.

The real agent as a process, at its real pace, with the fake NVML of the tests (two cards that work) and a receiver behind TLS.
``python -m bench.agent [SECONDS]`` prints both and ends with 1 if a target is missed; ``make bench`` runs it for
AGENT_SECONDS.
"""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import trustme

SECONDS = 600.0
SHARE_MOST, MB_MOST = 0.5, 60.0  # % of one core, MB resident
REPO = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
CARD = {
    "uuid": "GPU-{n}", "name": "Tesla T4", "pci": "00000000:0{n}:00.0", "virtual": 1, "util": 60, "encoder": 0, "decoder": 0,
    "energy_mj": 1000000, "power_mw": 50000, "persistence": 1, "ecc": 1, "mem_total_mib": 15360, "mem_reserved_mib": 450,
    "mem_used_mib": 9000, "compute": "{pid}:9000", "graphics": "",
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Takes readings."""

    taken = 0

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        Handler.taken += 1
        text = json.dumps({"orders": []}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def receiver(folder: Path) -> ThreadingHTTPServer:
    """Behind TLS, with its signer's certificate in ``ca.pem``."""
    authority, context = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def prepare(folder: Path, port: int) -> dict[str, str]:
    """The fake NVML, its state, the settings; the environment of the agent."""
    flags = ["-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-O1"]
    source = REPO / "tests/guest/fake_nvml.c"
    subprocess.run(["gcc", *flags, "-o", folder / "libnvidia-ml.so.1", source, "-lpthread"], check=True)
    lines = ["driver=550.90.07", "count=2"]
    lines += [
        f"gpu.{n}.{key}={str(value).format(n=n, pid=os.getpid())}" for n in range(2) for key, value in CARD.items()
    ]
    (folder / "state").write_text("\n".join(lines) + "\n")
    (folder / "token").write_text("bench")
    (folder / "token").chmod(0o600)
    (folder / "agent.conf").write_text(
        f"[agent]\nurl=https://127.0.0.1:{port}\ntoken_file={folder}/token\nca_file={folder}/ca.pem\nstate_dir={folder}/s\nrun_dir={folder}/r\n"
    )
    return {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(folder), "FAKE_NVML": str(folder / "state")}


def used(pid: int) -> float:
    """Seconds of processor."""
    parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / TICKS


def memory(pid: int, key: str) -> float:
    """MB, of a line in its status."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024 / 1e6


def main(seconds: float) -> int:
    """Measures and prints; 1 if a target is missed."""
    if shutil.which("gcc") is None:
        print("agent of a guest: left out, it needs gcc")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = receiver(folder)
        environ = prepare(folder, server.server_port)
        command = [sys.executable, "-m", "bot.guest.agent.main", "-s", str(folder / "agent.conf")]
        agent = subprocess.Popen(command, env=environ, cwd=REPO, stderr=subprocess.DEVNULL)
        try:
            begun = time.monotonic()
            time.sleep(seconds)
            elapsed, processor = time.monotonic() - begun, used(agent.pid)
            resident, peak = memory(agent.pid, "VmRSS"), memory(agent.pid, "VmHWM")
        finally:
            agent.terminate()
            agent.wait()
            server.shutdown()
    share = 100 * processor / elapsed
    programs = sum(entry.name.isdigit() for entry in os.scandir("/proc"))
    print(
        f"agent of a guest: {share:.2f} % of a core over {elapsed:.0f} s with its start (target {SHARE_MOST} %),"
        f" {resident:.0f} MB resident, {peak:.0f} MB at most (target {MB_MOST:.0f} MB);"
        f" {Handler.taken} readings, {programs} programs in the machine"
    )
    return int(share > SHARE_MOST or peak > MB_MOST)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS))
