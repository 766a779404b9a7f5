"""The wheel that the container installs: it must hold what the tree holds, pages and migrations included."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

GENERATED = {".pyc", ".pyo"}


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_wheel_holds_every_file_of_the_package(repo: Path, tmp_path: Path) -> None:
    """Built in a folder of its own, so that nothing of an earlier build gets in."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((repo / name).read_bytes())
    wanted = {path.relative_to(repo) for path in (repo / "bot").rglob("*") if _is_ours(path)}
    for relative in wanted:
        (source / relative).parent.mkdir(parents=True, exist_ok=True)
        (source / relative).write_bytes((repo / relative).read_bytes())
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(source)],
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("gpubot-*.whl")
    held = set(zipfile.ZipFile(wheel).namelist())
    assert sorted(str(path) for path in wanted if path.as_posix() not in held) == []
    assert not any(name.startswith(("tests/", "docs/", "bench/")) for name in held)
    assert any(name.endswith("licenses/LICENSE") for name in held)


def _is_ours(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and path.suffix not in GENERATED
