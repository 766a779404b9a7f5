"""The stand-in against a client that shares no code with it: govmomi, as Debian installs it (see govmomi/main.go)."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.local.vcenter_client import CARD_1, CARD_2, rig
from tests.needs import GOVMOMI, need

MAIN = Path(__file__).parent / "govmomi" / "main.go"


@pytest.fixture(scope="module")
def client() -> Path:
    """The built client; built once a content of main.go, into a folder of the system's for passing files."""
    go = need("go")
    need("vcsim")
    if not GOVMOMI.is_dir():
        pytest.skip("needs govmomi's source: apt-get install golang-github-vmware-govmomi-dev")
    mark = hashlib.sha256(MAIN.read_bytes() + str(GOVMOMI).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("VCSIM_CACHE") or Path(tempfile.gettempdir()) / f"gpubot-vcsim-{os.getuid()}")
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / f"client-{mark}"
    if not target.exists():
        new = target.with_name(f"{target.name}.{os.getpid()}")
        path = GOVMOMI.parents[3]  # the folder that holds src/github.com/vmware/govmomi
        env = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOPATH": str(path), "GOCACHE": str(cache / "go")}
        subprocess.run([go, "build", "-o", new, MAIN], env=env, check=True, capture_output=True, timeout=110)
        new.replace(target)  # whole or not at all, also when two workers build
    return target


FOUND = {"vm-python", "vm-python-2", "vm-r", "vm-train", "template-gpu"}


@pytest.mark.parametrize("api", ["8.0.3.0", "6.7"])
def test_a_go_client_walks_reads_and_changes(client: Path, api: str) -> None:
    with rig(page_size=2, boot_s=0.5, api_version=api) as lab:
        lab.post("privileges", user=lab.running.user)  # the bot's own role, as it is by itself
        lab.post("vm/vm-python/attach", card=CARD_2)
        if api != "6.7":
            lab.post("vm/vm-python-2/attach", dynamic="pool")
        r = lab.running
        done = subprocess.run(
            [client, "-url", r.url, "-user", r.user, "-ca", str(r.ca_file)],
            input=r.password + "\n",
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        devices = told.pop("devices")
        assert told == {
            "api": api,
            "version": api,
            "user": r.user,
            "wrong": "types.InvalidLogin",
            "found": 5,
            "machines": 5,
            "card": CARD_1,
            "key": 13000,
            "label": "pcipassthrough-13000",
            "conflict": "*types.ConcurrentAccess",
            "early": "types.ToolsUnavailable",
            "repeated": "*types.InvalidPowerState",
            "time": True,
            "after": "types.NotAuthenticated",
            "vm": "VirtualMachine",
            "kinds": {
                "ClusterComputeResource": 1,
                "Datacenter": 1,
                "Folder": 4,
                "HostSystem": 1,
                "ResourcePool": 1,
                "VirtualMachine": 5,
            },
            "deepest": 4,
            "reserved": [4096, 0],
            "cycles": ["poweredOn", "poweredOff"] * 2,
            "may": [True, False],
            "refused": "types.NoPermission",
            "same": True,
        }
        assert devices.keys() == FOUND
        assert devices["vm-python"] == [f"fixed {CARD_2}"] and devices["vm-r"] == []
        assert devices["vm-python-2"] == ([] if api == "6.7" else ["dynamic pool"])
        assert lab.cards("vm-r") == [] and lab.power("vm-r") == "poweredOff"
        mine = [verb for user, verb, vm in lab.journal("card on", "shutdown asked", "card off") if user == r.user]
        assert mine == ["card on", "shutdown asked", "card off"]
        powers = [vm for user, verb, vm in lab.journal("power on") if user == r.user]
        assert sorted(powers) == ["vm-r", "vm-r", "vm-train"]
