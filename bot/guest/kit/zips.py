"""Single-file programs: parts of this package in a zip that Python runs, the same bytes on every machine.

Called by ``main.py``. Stored, not compressed, with one date and sorted names, so that two kits of one version can be compared.
"""

from __future__ import annotations

import importlib.util
import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import bot

PACKAGE = Path(bot.__file__).absolute().parent
SHEBANG = b"#!/usr/bin/env python3\n"
DATE = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold
BINDING = "pynvml.py"
NO_WORDS: Mapping[str, str] = {}
LICENCE = "LICENSE-nvidia-ml-py.txt"


class KitError(Exception):
    """The kit cannot be written; in words for the person who asked for it."""


def program(
    start: str,
    rooms: Iterable[str],
    extra: Mapping[str, bytes],
    words: Mapping[str, str] = NO_WORDS,
    too_old: int = 2,
    too_old_json: str = "",
) -> bytes:
    """A zip with a first line that runs it.

    `start` is a module with a function ``main`` that takes the arguments and returns an exit code; `words` are first arguments that
    another such module takes; `rooms` are folders of ``bot/guest``; `extra` are further files by their names; `too_old` is the exit code
    under a Python that is too old, and `too_old_json` what then goes to stdout for ``--json`` ("" it has no such word; VERSION in it is
    replaced).
    """
    files = {"__main__.py": _main(start, words, too_old, too_old_json), **sources(rooms), **extra}
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, DATE)
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            archive.writestr(entry, files[name])
    return SHEBANG + made.getvalue()


TOO_OLD = "needs Python 3.9 or newer; this is VERSION"


def _main(start: str, words: Mapping[str, str], too_old: int, too_old_json: str) -> bytes:
    """What runs first, also in Python 2. An old one says so in one line instead of a traceback."""
    lines = [
        "import sys",
        "words = sys.argv[1:]",
        "if sys.version_info < (3, 9):",
        f"    said, code = {TOO_OLD!r}, {too_old}",
    ]
    if too_old_json:
        # A first word that another module takes is the check, whose code this is.
        asked = f"words[0] in {tuple(words)!r}" if words else "True"
        lines += [
            f"    if words and {asked}:",
            "        code = 2",
            "        if '--json' in words:",
            f"            print({too_old_json!r}.replace('VERSION', sys.version.split()[0]))",
            "            sys.exit(code)",
        ]
    lines += ["    sys.stderr.write(said.replace('VERSION', sys.version.split()[0]) + '\\n')", "    sys.exit(code)"]
    for word, module in words.items():
        lines += [f"if words[:1] == [{word!r}]:", f"    from {module} import main"]
        lines += [f"    sys.exit(main(words[1:], sys.argv[0].rpartition('/')[2] + {' ' + word!r}))"]
    return "\n".join([*lines, f"from {start} import main", "sys.exit(main(words))", ""]).encode()


def sources(rooms: Iterable[str]) -> dict[str, bytes]:
    """The files of some rooms of ``bot/guest``, and the packages around them, by their names in the zip."""
    guest = PACKAGE / "guest"
    paths = [PACKAGE / "__init__.py", guest / "__init__.py"]
    for room in rooms:
        paths += [
            path
            for path in (guest / room).rglob("*")
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
        ]
    return {path.relative_to(PACKAGE.parent).as_posix(): path.read_bytes() for path in paths}


def binding() -> dict[str, bytes]:
    """The binding to the driver's library, and its licence, which its own first lines hold. Raises KitError."""
    found = importlib.util.find_spec("pynvml")
    path = Path(found.origin) if found and found.origin else None
    text = path.read_text("utf-8") if path and path.name == BINDING else ""
    licence = text.partition("#####\n")[2].partition("#####\n")[0]
    if path is None or "Redistribution and use" not in licence:
        raise KitError("nvidia-ml-py is not installed here, and the kit takes it along: pip install nvidia-ml-py")
    lines = [line.removeprefix("#").removeprefix(" ") for line in licence.splitlines()]
    return {BINDING: path.read_bytes(), LICENCE: ("\n".join(lines).strip() + "\n").encode()}
