"""Pictures: the port ``Plots``. The only home of matplotlib, one function a picture, made with ``_figure`` and handed back by ``_png``.

Wiring makes a :class:`Plots` and hands it to who shows pictures; the library is imported when the first one is drawn, because that takes
half a second. It draws what it is given: every word of a picture comes with it, and no number is reckoned here.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bot.service.ports import ComparedPicture, HoursPicture, Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, DPI = 8.0, 5.0, 200
"""Inches, and dots an inch: 1600 by 1000, which Slack shows at about half of that. A letter of 12 points is then 17 dots high."""

INK, PALE, GRID = "#1f2937", "#6b7280", "#e5e7eb"
"""Text, text that matters less, lines behind the bars."""

LOOKS: dict[str, dict[str, Any]] = {
    "busy": {"facecolor": "#0072b2"},
    "quiet": {"facecolor": "#e69f00"},
    "unknown": {"facecolor": "#ffffff", "hatch": "////", "edgecolor": "#6b7280"},
    "kept": {"facecolor": "#9fd3c7"},
    "free": {"facecolor": "#eef2f7", "edgecolor": "#9ca3af"},
    "out": {"facecolor": "#4b5563"},
    "waiting": {"facecolor": "#d55e00"},
    "pale": {"facecolor": "#9fc5e0"},
}
"""How each part is drawn. Told apart without colours too, by lightness or a pattern (colours after Okabe and Ito)."""

_DRAWING = threading.Lock()
"""The library keeps fonts and more for the whole process, and is not made for threads."""


class Plots:
    """See ``service.ports.Plots``. Safe for threads: one picture is drawn at a time."""

    def hours(self, picture: HoursPicture) -> bytes:
        """A PNG of 1600 by 1000: above, how the hours of the cards went, a bar a day; below, the hours that people waited."""
        with _DRAWING:
            figure = _figure(picture.title, picture.about)
            sizes = {"height_ratios": [3, 1], "hspace": 0.22, "left": 0.075, "right": 0.75, "top": 0.8, "bottom": 0.08}
            above, below = figure.subplots(2, 1, sharex=True, gridspec_kw=sizes)
            at = range(len(picture.bars))
            _stacked(above, at, picture)
            below.bar(at, [bar.waiting for bar in picture.bars], width=0.72, linewidth=0, **LOOKS["waiting"])
            _axis(above, picture.unit, max((sum(bar.hours) for bar in picture.bars), default=0.0), 24)
            _axis(below, picture.waiting, max((bar.waiting for bar in picture.bars), default=0.0))
            _days(below, [bar.label for bar in picture.bars])
            _legend(above)
            return _png(figure)

    def compared(self, picture: ComparedPicture) -> bytes:
        """A PNG of 1600 by 1000: a row for each of what is compared, a column for each measure; the first has more room."""
        with _DRAWING:
            figure = _figure(picture.title, picture.about)
            widths = [2.0, *(1.0 for _ in picture.measures[1:])]
            sizes = {"width_ratios": widths, "wspace": 0.1, "left": 0.165, "right": 0.975, "top": 0.78, "bottom": 0.13}
            columns = figure.subplots(1, len(picture.measures), sharey=True, squeeze=False, gridspec_kw=sizes)[0]
            for axes, measure in zip(columns, picture.measures, strict=True):
                _rows(axes, picture.names, measure)
            return _png(figure)


# ---- what every picture begins and ends with --------------------------------------------------------------------------------


def _figure(title: str, about: str = "") -> Figure:
    """An empty picture with its title, and a line below it that matters less. No window, no global state."""
    from matplotlib.figure import Figure as Made

    figure = Made(figsize=(WIDTH, HEIGHT), dpi=DPI, facecolor="white")
    figure.text(0.02, 0.945, title, fontsize=15, fontweight="bold", color=INK, va="center")
    figure.text(0.02, 0.895, about, fontsize=11, color=PALE, va="center")
    return figure


def _axis(axes: Axes, label: str, most: float, whole: int = 1) -> None:
    """The plain look of a diagram: no frame, pale lines, a label that is read without turning one's head. ``most``: the tallest bar;
    ``whole``: what the lines count in, once there is enough of it."""
    from matplotlib.ticker import MultipleLocator

    top = max(1.0, most)
    step = next(s for s in _steps(whole if top >= 2 * whole else 1) if top / s <= 4.5)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(PALE)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(axis="both", length=0, labelsize=11, labelcolor=INK)
    axes.yaxis.set_major_locator(MultipleLocator(step))
    axes.set_ylim(0, top * 1.03)
    axes.set_title(label, loc="left", fontsize=11, color=INK, pad=7)


def _steps(whole: int) -> Iterator[float]:
    """What lines may be apart: 1, 2, 5, 10, … of it."""
    return (float(whole * factor * 10**power) for power in range(12) for factor in (1, 2, 5))


def _png(figure: Figure) -> bytes:
    """The picture as a file. The same picture makes the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    out = io.BytesIO()
    figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()


# ---- bars -------------------------------------------------------------------------------------------------------------------


def _stacked(axes: Axes, at: Sequence[int], picture: HoursPicture) -> None:
    """The parts of each day on top of each other, in the order in which they are given. What is nowhere in the picture is left out."""
    base = [0.0] * len(picture.bars)
    for number, part in enumerate(picture.parts):
        tall = [bar.hours[number] for bar in picture.bars]
        there = [day for day in at if tall[day] > 0]  # one of no height would still draw its edges over those below
        look = {"edgecolor": "white", **LOOKS[part.look]}
        heights, bottoms = [tall[day] for day in there], [base[day] for day in there]
        if there:
            axes.bar(there, heights, bottom=bottoms, width=0.72, linewidth=0.8, label=part.word, **look)
        base = [b + t for b, t in zip(base, tall, strict=True)]


def _days(axes: Axes, labels: Sequence[str]) -> None:
    """The names of the days, of those that have one. There is room for a week at least: what is still to come of it is seen to be missing."""
    named = [at for at, label in enumerate(labels) if label]
    axes.set_xticks(named, [labels[at] for at in named])
    axes.tick_params(axis="x", pad=7)
    axes.set_xlim(-0.6, max(len(labels), 7) - 0.4)


def _legend(axes: Axes) -> None:
    """Beside the bars, in the order in which their parts stand on each other."""
    handles, words = axes.get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.03), "labelspacing": 0.7}
    axes.legend(handles[::-1], words[::-1], frameon=False, fontsize=11, labelcolor=INK, handlelength=1.3, **place)


# ---- rows -------------------------------------------------------------------------------------------------------------------


def _rows(axes: Axes, names: Sequence[str], measure: Measure) -> None:
    """One measure of what is compared: for each a bar a series, below each other, with its number behind it."""
    at, many = range(len(names)), max(1, len(measure.series))
    most = max((value for one in measure.series for value in one.values), default=0.0) or 1.0
    tall = 0.72 / many
    for number, one in enumerate(measure.series):
        rows = [row + tall * (number - (many - 1) / 2) for row in at]
        axes.barh(rows, one.values, height=tall, linewidth=0, label=one.word, **LOOKS[one.look])
        for row, value in zip(rows, one.values, strict=True):
            axes.text(value + most * 0.015, row, short(value, most), va="center", fontsize=11, color=INK)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color(PALE)
    axes.tick_params(axis="both", length=0, labelsize=11, labelcolor=INK)
    axes.set_xticks([])
    axes.set_xlim(0, most * 1.18)
    axes.set_yticks(at, names)
    axes.set_ylim(max(1, len(names)) - 0.5, -0.5)
    axes.set_title(measure.label, loc="left", fontsize=11, color=INK, pad=7)
    if len(measure.series) > 1:
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.02), "ncols": len(measure.series)}
        axes.legend(frameon=False, fontsize=11, labelcolor=INK, handlelength=1.3, **place)


def short(value: float, most: float) -> str:
    """A number as it is read beside others, with as many digits behind the point as the highest of them needs for three."""
    return f"{value:.{0 if most >= 100 else 1 if most >= 10 else 2}f}"
