"""What a vCenter of another API version announces, and what it does not know yet."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from pyVmomi import VmomiSupport, vim, vmodl

from bot.local.vcenter import versions, wire
from bot.local.vcenter.vmomi import Refusal
from tests.local.vcenter_client import PCI, Rig, rig

CALL = (
    '<soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>{}</soapenv:Body></soapenv:Envelope>'
)


@pytest.fixture(scope="module", params=["6.7", "7.0.3.0", "9.0"])
def lab(request: pytest.FixtureRequest) -> Iterator[Rig]:
    with rig(api_version=request.param) as one:
        yield one


def test_a_client_speaks_what_is_announced(lab: Rig) -> None:
    api = versions.api_id(lab.world.settings.api_version)
    assert lab.content.about.apiVersion == api == VmomiSupport.versionIdMap[lab.si._stub.version]
    assert lab.content.about.version == versions.product(api)[0]


def retrieve(lab: Rig, kind: Any, path: str) -> Any:
    ref = lab.view(kind)[0]
    pc: Any = vmodl.query.PropertyCollector
    spec = pc.FilterSpec(
        objectSet=[pc.ObjectSpec(obj=ref)], propSet=[pc.PropertySpec(type=kind, all=False, pathSet=[path])]
    )
    return lab.content.propertyCollector.RetrieveContents([spec])


@pytest.mark.parametrize(
    ("kind", "path", "since"),
    [
        (vim.HostSystem, "config.assignableHardwareBinding", "7.0"),
        (vim.HostSystem, "config.assignableHardwareConfig", "7.0"),
        (vim.VirtualMachine, "config.instanceUuid", "6.7"),
    ],
)
def test_a_newer_property_is_not_valid(lab: Rig, kind: Any, path: str, since: str) -> None:
    if versions.knows(versions.named(lab.world.settings.api_version), versions.named(since)):
        retrieve(lab, kind, path)
    else:
        with pytest.raises(vmodl.query.InvalidProperty):
            retrieve(lab, kind, path)


def test_what_a_host_tells_depends_on_the_version(lab: Rig) -> None:
    config = lab.world.host.props["config"]
    text = wire.serialise(config, "config", version=versions.named(lab.world.settings.api_version))
    assert ("<vgpuMode>" in text) == (lab.world.settings.api_version == "9.0")  # since 8.0.3.0
    assert "<passthruActive>" in text


def test_a_dynamic_device_is_a_device_of_no_kind_before_7_0(lab: Rig) -> None:
    device = PCI(key=13000, backing=PCI.DynamicBackingInfo(deviceName="", customLabel="pool"))
    text = wire.serialise(device, "device", version=versions.named(lab.world.settings.api_version))
    assert ("customLabel" in text) == (lab.world.settings.api_version != "6.7")


def post(lab: Rig, body: str, action: str) -> str:
    request = urllib.request.Request(lab.running.url, data=CALL.format(body).encode(), method="POST")
    request.add_header("SOAPAction", action)
    try:
        with urllib.request.urlopen(request, context=lab.running.context(), timeout=5) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        with error:
            return str(error.read().decode())


CONTENT = '<RetrieveServiceContent xmlns="urn:vim25"><_this type="ServiceInstance">ServiceInstance</_this></RetrieveServiceContent>'


def test_an_older_client_is_answered_as_it_speaks_and_a_newer_one_is_refused(lab: Rig) -> None:
    assert "<apiVersion>" in post(lab, CONTENT, "urn:vim25/6.5")
    newer = post(lab, CONTENT, "urn:vim25/9.1.0.0")
    assert "InvalidRequest" in newer and "Unsupported version URI" in newer
    assert "<apiVersion>" in post(lab, CONTENT, "urn:vim25/of-nobody")  # as if it named none


def test_newer_methods_and_newer_elements_are_not_resolved() -> None:
    old, new = versions.named("6.7"), versions.named("8.0.3.0")
    dynamic = CALL.format(
        '<ReconfigVM_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this><spec><deviceChange><operation>add</operation>'
        '<device xsi:type="VirtualPCIPassthrough"><key>-1</key><backing xsi:type="VirtualPCIPassthroughDynamicBackingInfo">'
        "<deviceName></deviceName><customLabel>pool</customLabel></backing></device></deviceChange></spec></ReconfigVM_Task>"
    ).encode()
    assert wire.parse_request(dynamic, new).args["spec"].deviceChange[0].device.backing.customLabel == "pool"
    with pytest.raises(Refusal, match="VirtualPCIPassthroughDynamicBackingInfo"):
        wire.parse_request(dynamic, old)
    newer = CALL.format('<QueryVirtualMachineEncryptionX xmlns="urn:vim25"/>').encode()
    with pytest.raises(Refusal, match="Unable to resolve"):
        wire.parse_request(newer, new)
    attach = CALL.format(
        '<PromoteDisks_Task xmlns="urn:vim25"><_this type="VirtualMachine">vm-1</_this><unlink>true</unlink></PromoteDisks_Task>'
    ).encode()
    assert wire.parse_request(attach, old).method == "PromoteDisks_Task"
    with pytest.raises(Refusal, match="PromoteDisks_Task"):
        wire.parse_request(attach, "vim.version.version2")


def test_what_is_announced_is_all_that_is_older() -> None:
    told = versions.announced(versions.named("7.0.3.0"))
    assert told[0] == "7.0.3.0" and "8.0.0.1" not in told and "6.7" in told and told[-1] == "5.5"
    assert versions.announced(versions.named("9.0"))[0] == "9.0.0.0"
    with pytest.raises(ValueError, match="known are"):
        versions.named("12")
