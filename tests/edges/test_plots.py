"""The pictures: files of the right size that show something, without a window server, whatever the numbers are."""

import io

import pytest
from PIL import Image

from bot.edges.plots import LOOKS, Plots, short
from bot.service.ports import Bar, ComparedPicture, HoursPicture, Measure, Part, Series

PARTS = tuple(Part(look, look) for look in LOOKS if look not in ("waiting", "pale"))
WEEK = tuple(Bar(day, (40.0, 12.0, 6.0, 2.0, 12.0, 24.0), 5.0) for day in ("Mon 9", "Tue 10", "Wed 11"))


def picture(bars: tuple[Bar, ...] = WEEK) -> HoursPicture:
    return HoursPicture("4 cards", "Mon 9 to Wed 11 Nov", "hours of cards a day", "hours waited", PARTS, bars)


def pixels(png: bytes) -> tuple[tuple[int, int], set[bytes]]:
    """Size and colours."""
    with Image.open(io.BytesIO(png)) as image:
        assert image.format == "PNG"
        return image.size, {bytes(colour) for _, colour in image.convert("RGB").getcolors(image.width * image.height)}


def rgb(look: str) -> bytes:
    return bytes.fromhex(LOOKS[look]["facecolor"][1:])


def test_a_week_is_drawn_in_the_size_that_slack_shows_well() -> None:
    size, colours = pixels(Plots().hours(picture()))
    assert size == (1600, 1000)
    assert {rgb(look) for look in ("busy", "quiet", "kept", "free", "out", "waiting")} <= colours


def test_what_is_not_there_is_not_drawn() -> None:
    bars = tuple(Bar(day, (0.0, 0.0, 0.0, 0.0, 96.0, 0.0), 0.0) for day in ("Mon 9", "Tue 10"))
    _, colours = pixels(Plots().hours(picture(bars)))
    assert rgb("free") in colours and rgb("busy") not in colours and rgb("waiting") not in colours


def test_the_same_numbers_make_the_same_file() -> None:
    assert Plots().hours(picture()) == Plots().hours(picture())


@pytest.mark.parametrize("bars", [(), (Bar("Mon 9", (0.0,) * 6, 0.0),), WEEK * 11], ids=["none", "nothing", "a month"])
def test_any_number_of_days_and_no_hours_at_all_are_drawn(bars: tuple[Bar, ...]) -> None:
    assert Plots().hours(picture(bars)).startswith(b"\x89PNG")


def compared(*values: float) -> ComparedPicture:
    names = tuple(f"policy-{n}" for n in range(len(values)))
    waits = Measure(
        "wait, hours", (Series("mean", "busy", values), Series("most", "pale", tuple(2 * v for v in values)))
    )
    return ComparedPicture("Waits", "of a trace", names, (waits, Measure("idle", (Series("idle", "quiet", values),))))


def test_policies_are_drawn_beside_each_other() -> None:
    size, colours = pixels(Plots().compared(compared(400.0, 120.0, 0.5)))
    assert size == (1600, 1000)
    assert {rgb(look) for look in ("busy", "pale", "quiet")} <= colours
    assert Plots().compared(compared(1.0)) == Plots().compared(compared(1.0))


def test_numbers_that_are_compared_have_the_same_digits() -> None:
    for values, said in (
        ((363.1, 84.9, 7.01), ["363", "85", "7"]),
        ((20.8, 2.06, 0.0), ["20.8", "2.1", "0.0"]),
        ((9.9, 0.5), ["9.90", "0.50"]),
    ):
        assert [short(value, max(values)) for value in values] == said


@pytest.mark.parametrize("values", [(), (0.0,), (0.0, 1e6)], ids=["none", "nothing", "much"])
def test_whatever_is_compared_is_drawn(values: tuple[float, ...]) -> None:
    assert Plots().compared(compared(*values)).startswith(b"\x89PNG")
