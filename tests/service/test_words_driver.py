"""A driver that does not work any more is told to whoever may restart the guest, with what mends it."""

from __future__ import annotations

import pytest

from bot.domain.news import ADMINS, News, NewsKind
from bot.service import words
from tests.service import words_cases as w
from tests.service.words_rules import check


def fault(to: str, no_driver: str, reason: str) -> str:
    inside = w.reading(no_driver=no_driver)
    news = News(
        NewsKind.GUEST_FAULT, to, lease=w.lease(), machine=w.PYTHON, slots=("T4-1",), watches=(w.watch(),), reason=reason, inside=inside
    )  # fmt: skip
    reply = words.news(news, w.books(w.lease()), w.NOW, w.POLICY)
    check(reply)
    return w.text(reply)


@pytest.mark.parametrize(
    ("no_driver", "mends"), [("mismatch", "sudo reboot"), ("not loaded", "nvidia-smi"), ("no library", "nvidia-smi")]
)
def test_an_owner_reads_what_mends_a_driver(no_driver: str, mends: str) -> None:
    said = fault(w.ADA.id, no_driver, "the driver was there")
    assert said.splitlines()[0] == "T4-1 in vm-python: the driver was there."
    assert mends in said and "nothing is asked and nothing taken back" in said


def test_admins_read_that_the_owners_are_told_of_a_driver_and_not_of_a_card() -> None:
    assert "Its owners are told." in fault(ADMINS, "mismatch", "the driver was updated")
    assert "Its owners are told." in fault(ADMINS, "not loaded", "its driver is gone")
    assert "owners" not in fault(ADMINS, "", "xid 79")
