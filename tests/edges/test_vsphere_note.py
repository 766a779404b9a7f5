"""The attribute of a machine on the wire: written once, by its one privilege, and never by a lab that only looks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bot.edges.vsphere.lab import ReadOnly
from bot.edges.vsphere.vmomi import vim
from bot.service.ports import NeedsPerson
from tests.edges.vsphere_rig import Bench, stand_in

TEXT = "T4-2 for ada until Fri 4 Dec 18:00; restarted Mon 30 Nov 22:04 for #12 · ü"


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with stand_in(attribute="gpubot") as bench:
        yield bench


def values(bench: Bench, name: str) -> list[str]:
    """What stands there, by the journal."""
    return [e["details"]["value"] for e in bench.journal("custom value") if e["vm"] == name]


def test_it_says_what_is_missing_then_it_is_written_once(bench: Bench) -> None:
    uuid, api = bench.uuid("vm-r"), bench.inside.server.api
    with pytest.raises(NeedsPerson, match=r"no custom attribute gpubot .*govc fields.add -type VirtualMachine gpubot"):
        bench.lab.note("lab", uuid, TEXT)
    with bench.inside.world.lock:
        api.fields.add("gpubot", vim.VirtualMachine)
    with pytest.raises(NeedsPerson, match=r"custom attribute gpubot: its role lacks Global\.SetCustomField"):
        bench.lab.note("lab", uuid, TEXT)
    api.privileges.grants[bench.vcenter.user] = {"Global.SetCustomField"}
    bench.lab.note("lab", uuid, "")
    assert values(bench, "vm-r") == [], "nothing stands there already"
    bench.lab.note("lab", uuid, TEXT)
    bench.lab.note("lab", uuid, TEXT)
    assert values(bench, "vm-r") == [TEXT]
    bench.lab.note("lab", uuid, "")
    assert values(bench, "vm-r") == [TEXT, ""]
    with pytest.raises(NeedsPerson, match="level hands"):
        ReadOnly(bench.lab, "hands").note("lab", uuid, TEXT)
    with pytest.raises(NeedsPerson, match="not in vCenter lab any more"):
        bench.lab.note("lab", "no-such-machine", TEXT)
    assert len(values(bench, "vm-r")) == 2 and {e["user"] for e in bench.journal("custom value")} == {
        bench.vcenter.user
    }


def test_where_the_settings_name_none_nothing_is_asked() -> None:
    with stand_in() as bench:
        bench.reset()
        bench.lab.note("lab", "whatever", TEXT)
        assert bench.calls() == {}
