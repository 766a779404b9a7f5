"""Images to learn from, without a network: digits that are drawn here, or the file mnist.npz that somebody brought.

Called by the child of the check. A 5x7 font, stretched, moved, dimmed and made noisy: the same images for the same seed on every
machine. numpy is handed in, so that this file loads without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIDE = 28
"""Pixels of an image, each way, as in MNIST."""
FONT = (
    ".###. #...# #..## #.#.# ##..# #...# .###.",
    "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    ".###. #...# ....# ...#. ..#.. .#... #####",
    "##### ...#. ..#.. ...#. ....# #...# .###.",
    "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
    "##### #.... ####. ....# ....# #...# .###.",
    "..##. .#... #.... ####. #...# #...# .###.",
    "##### ....# ...#. ..#.. .#... .#... .#...",
    ".###. #...# #...# .###. #...# #...# .###.",
    ".###. #...# #...# .#### ....# ...#. .##..",
)
"""The digits 0 to 9, seven lines of five."""
KEYS = ("x_train", "y_train", "x_test", "y_test")


class DataError(ValueError):
    """The file cannot be used; the text says why, in words for the person who named it."""


@dataclass(frozen=True)
class Images:
    """What is learnt from, and what is asked afterwards. Images are uint8 (count, 28, 28), labels int64 (count,) of 0 to 9."""

    source: str  # for the report
    train: Any
    train_labels: Any
    test: Any
    test_labels: Any


def drawn(np: Any, train: int, test: int, seed: int) -> Images:
    """Digits drawn here; the same for the same numbers."""
    images, labels = draw(np, train + test, seed)
    return Images(f"digits drawn here, seed {seed}", images[:train], labels[:train], images[train:], labels[train:])


def draw(np: Any, count: int, seed: int) -> tuple[Any, Any]:
    """`count` images and their labels, each digit about as often."""
    chance = np.random.RandomState(seed)  # its stream is promised to stay the same in all versions of numpy
    font = np.array([[[mark == "#" for mark in line] for line in digit.split()] for digit in FONT], dtype=np.float32)
    labels = chance.permutation(np.arange(count) % 10)
    sizes = chance.randint(2, 4, (count, 2))  # 14 or 21 high, 10 or 15 wide
    places, light = chance.random_sample((count, 2)), chance.uniform(0.6, 1.0, count)
    stretched = {(d, h, w): np.kron(font[d], np.ones((h, w))) for d in range(10) for h in (2, 3) for w in (2, 3)}
    images = np.zeros((count, SIDE, SIDE), dtype=np.float32)
    for at in range(count):
        glyph = stretched[int(labels[at]), int(sizes[at, 0]), int(sizes[at, 1])]
        high, wide = glyph.shape
        top, left = int(places[at, 0] * (SIDE - high + 1)), int(places[at, 1] * (SIDE - wide + 1))
        images[at, top : top + high, left : left + wide] = glyph * light[at]
    images += chance.normal(0.0, 0.15, images.shape)
    return (np.clip(images, 0.0, 1.0) * 255).astype(np.uint8), labels.astype(np.int64)


def read(np: Any, path: Path, train: int, test: int) -> Images:
    """At most so many images of a file in the form of mnist.npz. Raises DataError."""
    try:
        # Opened here: numpy leaves a file open that turns out to be damaged.
        with path.open("rb") as file:
            held = np.load(file, allow_pickle=False)
            arrays = {key: held[key] for key in KEYS if key in held} if hasattr(held, "files") else None
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.") from None
    except OSError as error:
        # Some versions of numpy raise one without a number for a file that is no array.
        raise DataError(f"{path} cannot be read: {error.strerror}." if error.strerror else _no_npz(path)) from None
    except Exception:  # noqa: BLE001  what numpy, zipfile and zlib raise for other files: it speaks of their own innards
        raise DataError(_no_npz(path)) from None
    if arrays is None:
        raise DataError(f"{path} holds a single array; it needs {', '.join(KEYS)}, as mnist.npz has.")
    missing = [key for key in KEYS if key not in arrays]
    if missing:
        raise DataError(f"{path} has no {', '.join(missing)}; it needs {', '.join(KEYS)}, as mnist.npz has.")
    parts: list[Any] = []
    for images, labels, most in (("x_train", "y_train", train), ("x_test", "y_test", test)):
        parts += _part(np, path, (images, arrays[images]), (labels, arrays[labels]), most)
    return Images(str(path), *parts)


def _no_npz(path: Path) -> str:
    """Why numpy does not take a file, from its first octets, and what is needed."""
    with path.open("rb") as file:
        first = file.read(4)
    needs = f"it needs to be an .npz of numpy's with {', '.join(KEYS)} in numbers, as mnist.npz is"
    if not first:
        return f"{path} is empty; {needs}."
    if first.startswith(b"PK"):
        return f"{path} is damaged, or holds other things than numbers; {needs}."
    return f"{path} is no such file; {needs}."


def _part(np: Any, path: Path, images: tuple[str, Any], labels: tuple[str, Any], most: int) -> tuple[Any, Any]:
    """One half of a file, as `Images` has it."""
    (name, pixels), (label, digits) = images, labels
    if pixels.ndim == 4 and pixels.shape[-1] == 1:
        pixels = pixels[..., 0]
    if pixels.ndim != 3 or pixels.shape[1:] != (SIDE, SIDE):
        raise DataError(f"{path}: {name} has the shape {pixels.shape}; it needs (count, {SIDE}, {SIDE}).")
    if digits.shape != (len(pixels),):
        raise DataError(f"{path}: {label} has the shape {digits.shape}; it needs ({len(pixels)},), one for each image.")
    if not len(pixels):
        raise DataError(f"{path}: {name} is empty.")
    if pixels.dtype.kind not in "uif" or digits.dtype.kind not in "ui":
        raise DataError(f"{path}: {name} is {pixels.dtype} and {label} {digits.dtype}; both need to be numbers.")
    if digits.min() < 0 or digits.max() > 9:
        raise DataError(f"{path}: {label} goes from {digits.min()} to {digits.max()}; it needs 0 to 9.")
    pixels = pixels[:most]
    if pixels.dtype.kind == "f":
        if not np.isfinite(pixels).all():
            raise DataError(f"{path}: {name} holds numbers that are none.")
        pixels = pixels * (255 if pixels.max() <= 1 else 1)
    return np.clip(pixels, 0, 255).astype(np.uint8), digits[:most].astype(np.int64)
