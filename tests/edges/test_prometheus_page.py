"""What exporters write, line by line and label by label: what is read, what is dropped, and what never becomes a zero."""

import json
import math

import pytest

from bot.edges.telemetry.prometheus.cards import by_card, uuid_of
from bot.edges.telemetry.prometheus.names import ASKED, NAMES, number
from bot.edges.telemetry.prometheus.page import Sample, Unreadable, of_answer, of_page
from tests.edges.exporters import ACTIVE, ENERGY, POWER, U1, UTIL, dcgm, rows, smi


def read(text: str) -> list[Sample]:
    return of_page(text.encode(), 1000.0)


def test_help_and_type_lines_may_be_missing_or_wrong() -> None:
    bare = dcgm(values={UTIL: 7, ENERGY: 5000})
    told = f"# HELP {UTIL} GPU utilization (in %).\n# TYPE {UTIL} gauge\n# TYPE {ENERGY} counter\n{bare}"
    torn = f"# TYPE\n# HELP\n# TYPE {UTIL}\n#\n{bare}"
    assert [(s.name, s.value) for s in read(bare)] == [(UTIL, 7.0), (ENERGY, 5000.0)]
    assert read(told) == read(torn) == read(bare), "a TYPE line must not rename a counter"


@pytest.mark.parametrize("field", ["ERR!", "", "[N/A]", "[Unknown Error]", "1_0", "0x1F", "1e", "--1", "７ ％"])
def test_row_23_one_bad_field_costs_its_line_alone(field: str) -> None:
    text = rows({"UUID": U1}, {POWER: field}) + dcgm(values={UTIL: 7})
    card = by_card(read(text))[U1]
    assert (card.top("util"), card.last("power")) == (7.0, None)


@pytest.mark.parametrize(
    "raw",
    [9223372036854775794, 9223372036854775792, 9.223372036854776e18, 1.4e16, 140737488355328.0, 2147483632, 2147483635,
     math.nan, math.inf, -math.inf, -1, -14],
)  # fmt: skip
@pytest.mark.parametrize("name", sorted(NAMES))
def test_row_23_a_blank_is_none_and_never_a_number(name: str, raw: float) -> None:
    assert number(NAMES[name], raw) is None


def test_percent_and_ratio_are_told_apart_by_the_exporter() -> None:
    assert number(NAMES[UTIL], 1) == 1.0
    assert number(NAMES[ACTIVE], 1) == 100.0
    assert number(NAMES["nvidia_smi_utilization_gpu_ratio"], 0.97) == pytest.approx(97.0)
    assert number(NAMES[ACTIVE], 1.0001) == 100.0
    assert number(NAMES[ACTIVE], 97) is None, "a percent where a ratio belongs"
    assert number(NAMES[UTIL], 1400) is None
    assert number(NAMES[ENERGY], 5551899580) == 5551899.58
    assert number(NAMES["nvidia_smi_memory_used_bytes"], 2 * 1024**3) == 2048.0


@pytest.mark.parametrize(
    ("labels", "uuid"),
    [
        ({"UUID": U1}, U1),
        ({"uuid": U1}, U1),
        ({"gpu_uuid": U1}, U1),
        ({"exported_UUID": U1}, U1),
        ({"exported_uuid": U1, "uuid": ""}, U1),
        ({"uuid": U1.removeprefix("GPU-")}, U1),
        ({"uuid": "MIG-11111111-2222-3333-4444-555555555555"}, "MIG-11111111-2222-3333-4444-555555555555"),
        ({"gpu": "0"}, ""),
        ({"UUID": "[N/A]"}, ""),
        ({}, ""),
    ],
)
def test_the_uuid_by_whatever_name(labels: dict[str, str], uuid: str) -> None:
    assert uuid_of(labels) == uuid


def test_label_variants_are_one_card() -> None:
    """Two exporters, and one of them in three versions, speak of the same card."""
    text = (
        dcgm(values={UTIL: 1})
        + rows({"uuid": U1.removeprefix("GPU-")}, {"nvidia_smi_utilization_gpu_ratio": 0.5})
        + rows({"exported_UUID": U1, "exported_hostname": "x", "model_name": "Tesla T4"}, {UTIL: 3})
        + rows({"uuid": U1, "gpu": "0"}, {"dcgm_gpu_utilization": 4})
    )
    assert [(c.uuid, c.name, c.pci, c.top("util")) for c in by_card(read(text)).values()] == [
        (U1, "Tesla T4", "00000000:00:07.0", 50.0)
    ]


def test_a_page_without_a_pci_address() -> None:
    card = by_card(read(rows({"gpu": "0", "UUID": U1, "modelName": "Tesla T4"}, {UTIL: 3})))[U1]
    assert (card.pci, card.name) == ("", "Tesla T4")


def test_texts_are_one_short_line() -> None:
    card = by_card(read(dcgm(model="Tesla\\n  T4" + "x" * 500)))[U1]
    assert card.name.startswith("Tesla T4x") and len(card.name) == 80


def test_nobody_gets_endless_cards_or_samples() -> None:
    many = "".join(dcgm(f"GPU-{i}") for i in range(100))
    assert len(by_card(read(many))) == 64
    with pytest.raises(Unreadable, match="more than"):
        read(dcgm() * 20_001)
    assert read(f'{UTIL}{{UUID="{"x" * 9000}"}} 1\n') == []


def test_names_that_nobody_knows_are_not_read() -> None:
    assert read('go_goroutines 12\nDCGM_FI_DEV_FAN_SPEED{UUID="x"} 3\n\n  \n') == []
    assert len(read("  " + dcgm())) == 1


def test_processes_of_an_exporter_that_tells_them() -> None:
    bare = U1.removeprefix("GPU-")
    text = smi(values={"utilization_gpu_ratio": 0, "compute_apps": 2}) + "".join(
        rows({"pid": pid, "process_name": name, "uuid": bare}, {"nvidia_smi_compute_app_info": 1, "nvidia_smi_compute_app_used_memory_bytes": mem})
        for pid, name, mem in (("4242", "/usr/bin/python3", 9000 * 1024**2), ("77", "x", "NaN"), ("no", "y", 1))
    )  # fmt: skip
    found = by_card(read(text))[U1].processes()
    assert found is not None
    assert [(p.pid, p.name, p.mem_mb) for p in found] == [(77, "x", None), (4242, "/usr/bin/python3", 9000.0)]
    assert by_card(read(smi(values={"compute_apps": 0})))[U1].processes() == ()
    assert by_card(read(smi()))[U1].processes() is None, "not told is not none"


# ---- a server's answer


def answer(result: object, kind: str = "matrix", status: str = "success") -> bytes:
    return json.dumps({"status": status, "data": {"resultType": kind, "result": result}}).encode()


def test_an_answer_of_a_server() -> None:
    metric = {"__name__": UTIL, "UUID": U1, "instance": "10.0.0.7:9400"}
    matrix = of_answer(answer([{"metric": metric, "values": [[1.5, "0"], [16.5, "NaN"], [31.5, "97"]]}]))
    assert [(s.at, s.value) for s in matrix if s.value == s.value] == [(1.5, 0.0), (31.5, 97.0)]
    assert matrix[0].labels == {"UUID": U1, "instance": "10.0.0.7:9400"}
    vector = of_answer(answer([{"metric": metric, "value": [1.5, "5"]}], "vector"))
    assert [(s.at, s.value) for s in vector] == [(1.5, 5.0)]


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b"null", b"{}", b'{"status":"success"}', answer([], "scalar"), answer({}), answer([], status="error"), b"[" * 100_000],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_answer(body: bytes) -> None:
    with pytest.raises(Unreadable):
        of_answer(body)


def test_broken_series_cost_themselves_alone() -> None:
    good = {"metric": {"__name__": UTIL, "UUID": U1}, "values": [[1, "x"], [2], None, 5, [3, "7"], ["", "8"]]}
    broken: list[object] = [None, 3, {}, {"metric": 3}, {"metric": {}}, {"metric": {"__name__": UTIL}, "values": 3}]
    assert [
        s.value for s in of_answer(answer([*broken, good, {"metric": {"__name__": "up"}, "values": [[1, "1"]]}]))
    ] == [7.0]


def test_a_server_is_not_asked_for_what_every_exporter_has() -> None:
    assert "process_start_time_seconds" not in ASKED
    assert UTIL in ASKED and "nvidia_smi_last_collect_success" in ASKED
