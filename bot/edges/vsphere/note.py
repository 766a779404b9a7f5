"""Writes the custom attribute of a machine that says who has what of it. Called by `lab.note`; the only thing it can write is that one text.

Nothing is sent if the text stands there already. It needs one privilege (Global.SetCustomField) and an attribute that an admin made.
"""

from __future__ import annotations

import shlex

from bot.edges.vsphere.client import Client
from bot.edges.vsphere.faults import missing
from bot.edges.vsphere.reading import Site, find
from bot.edges.vsphere.vmomi import vim, vmodl
from bot.service.ports import NeedsPerson

PATHS = ("availableField", "customValue")


def note(client: Client, site: Site, machine: str, attribute: str, text: str) -> bool:
    """Write ``text`` into the ``attribute`` of a machine. Returns whether something was sent.

    :raises NeedsPerson: there is no such attribute, or it may not be written
    """
    name = site.vcenter.name
    vm = find(client, site, machine)
    if vm is None:
        raise NeedsPerson(f"this machine is not in vCenter {name} any more")
    row = client.one(vm.ref, PATHS)
    key = next((f.key for f in row.get("availableField") or () if f.name == attribute), None)
    if key is None:
        line = f"govc fields.add -type VirtualMachine {shlex.quote(attribute)}"
        raise NeedsPerson(f"vCenter {name} has no custom attribute {attribute} for machines: make it ({line})")
    stands = next((str(v.value) for v in row.get("customValue") or () if v.key == key), "")
    if stands == text:
        return False
    try:
        client.send(lambda: vm.ref.setCustomValue(attribute, text))
    except vim.fault.NotAuthenticated:
        raise
    except vim.fault.NoPermission as error:
        why = (
            f"vCenter {name} does not let {site.vcenter.user} write the custom attribute {attribute}: {missing(error)}"
        )
        raise NeedsPerson(why) from error
    except vmodl.fault.InvalidArgument as error:
        raise NeedsPerson(f"vCenter {name} refuses the text of the custom attribute {attribute}") from error
    return True
