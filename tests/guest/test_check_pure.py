"""The parts of the check that need no TensorFlow: digits, tolerance, devices, the reasons, the words and the JSON."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bot.guest.check import child, devices, digits, judge, report
from bot.guest.check.child import Ran
from bot.guest.check.devices import Device, Found
from bot.guest.check.sums import TOLERANCE, TOLERANCE_TF32, agree, difference

# --- digits -----------------------------------------------------------------------------------------------------


def test_the_digits_are_the_same_for_the_same_seed_and_others_for_another() -> None:
    first, again, other = (digits.draw(np, 200, seed) for seed in (1, 1, 2))
    assert (first[0] == again[0]).all() and (first[1] == again[1]).all()
    assert not (first[0] == other[0]).all()


def test_digits_are_images_as_mnist_has_them_each_about_as_often() -> None:
    images, labels = digits.draw(np, 500, 3)
    assert images.shape == (500, 28, 28) and images.dtype == np.uint8
    assert np.bincount(labels, minlength=10).tolist() == [50] * 10
    assert ((images > 128).sum(axis=(1, 2)) > 20).all(), "an image without a digit"


def test_digits_can_be_told_apart_and_are_not_all_alike() -> None:
    """What is learnt must be the form: each digit's font is its own, and one digit lies in many places."""
    assert len(set(digits.FONT)) == 10
    assert all(len(line) == 5 for digit in digits.FONT for line in digit.split()) and len(digits.FONT[0].split()) == 7
    images, labels = digits.draw(np, 400, 1)
    tops = {int(np.argmax((image > 128).any(axis=1))) for image in images[labels == 1]}
    assert len(tops) > 5


def saved(path: Path, **changes: Any) -> Path:
    """A small file in the form of mnist.npz, spoilt as told; None leaves a key out."""
    images, labels = digits.draw(np, 30, 1)
    arrays: dict[str, Any] = {
        "x_train": images[:20],
        "y_train": labels[:20],
        "x_test": images[20:],
        "y_test": labels[20:],
    }
    np.savez(path, **{key: value for key, value in {**arrays, **changes}.items() if value is not None})
    return path


def test_a_file_of_mnist_is_read_and_cut_to_what_is_needed(tmp_path: Path) -> None:
    read = digits.read(np, saved(tmp_path / "mnist.npz"), 15, 100)
    assert read.train.shape == (15, 28, 28) and read.test.shape == (10, 28, 28)
    assert read.train.dtype == np.uint8 and read.train_labels.dtype == np.int64


def test_a_file_with_a_channel_or_with_floats_is_read_as_well(tmp_path: Path) -> None:
    plain = digits.read(np, saved(tmp_path / "a.npz"), 20, 10)
    images = plain.train[..., None] / np.float32(255)
    read = digits.read(np, saved(tmp_path / "b.npz", x_train=images), 20, 10)
    assert np.abs(read.train.astype(int) - plain.train.astype(int)).max() <= 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"x_test": None, "y_test": None}, "has no x_test, y_test"),
        ({"x_train": np.zeros((20, 8, 8))}, r"x_train has the shape \(20, 8, 8\)"),
        ({"y_train": np.zeros(3, dtype=int)}, r"y_train has the shape \(3,\)"),
        ({"y_test": np.full(10, 17)}, "y_test goes from 17 to 17"),
        ({"y_test": np.full(10, 0.5)}, "y_test float64"),
        ({"x_test": np.zeros((0, 28, 28)), "y_test": np.zeros(0, dtype=int)}, "x_test is empty"),
        ({"x_train": np.full((20, 28, 28), np.nan)}, "numbers that are none"),
        ({"x_train": np.array(["a"] * 20)}, "x_train has the shape"),
        ({"x_train": np.array([{}] * 20, dtype=object)}, "holds other things than numbers"),
    ],
    ids=["keys", "shape", "lengths", "range", "labels", "empty", "nan", "text", "objects"],
)
def test_a_file_that_cannot_be_used_is_refused_with_what_it_needs(tmp_path: Path, changes: Any, says: str) -> None:
    with pytest.raises(digits.DataError, match=says):
        digits.read(np, saved(tmp_path / "x.npz", **changes), 20, 10)


def test_what_is_no_such_file_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(digits.DataError, match="There is no file"):
        digits.read(np, tmp_path / "none.npz", 1, 1)
    whole = saved(tmp_path / "whole.npz").read_bytes()
    single = tmp_path / "single.npy"
    np.save(single, np.zeros(3))
    for name, content in (("text", b"hello"), ("empty", b""), ("cut", whole[:2000]), ("bad", b"PK" + whole[2:900])):
        path = tmp_path / f"{name}.npz"
        path.write_bytes(content)
        with pytest.raises(digits.DataError, match=str(path)) as refused:
            digits.read(np, path, 1, 1)
        said = str(refused.value)
        assert "as mnist.npz is" in said, "what it needs"
        assert not re.search(r"pickle|allow_|zip file|zlib|object|magic", said), "in our own words, not in numpy's"
    with pytest.raises(digits.DataError, match="holds a single array"):
        digits.read(np, single, 1, 1)
    with pytest.raises(digits.DataError):
        digits.read(np, tmp_path, 1, 1)


# --- tolerance --------------------------------------------------------------------------------------------------


def product() -> tuple[Any, Any, Any]:
    """Two matrices of float32 and their product in float64."""
    chance = np.random.RandomState(0)
    left, right = (chance.standard_normal((512, 512)).astype(np.float32) for _ in range(2))
    return left, right, left.astype(np.float64) @ right.astype(np.float64)


def tf32(matrix: Any) -> Any:
    """Cut to the ten bits of a TF32 input."""
    return (matrix.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)


def test_a_sound_product_is_far_within_the_tolerance() -> None:
    left, right, wanted = product()
    assert difference(np, left @ right, wanted) < TOLERANCE / 10


def test_a_product_in_tf32_is_right_by_its_own_tolerance_and_not_by_the_narrow_one() -> None:
    left, right, wanted = product()
    error = difference(np, tf32(left) @ tf32(right), wanted)
    assert TOLERANCE < error < TOLERANCE_TF32
    assert not agree(error) and agree(error, TOLERANCE_TF32)


def test_one_wrong_number_in_a_product_is_seen() -> None:
    left, right, wanted = product()
    got = left @ right
    got[3, 5] += 1.0
    assert not agree(difference(np, got, wanted))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_no_number_never_agrees(bad: float) -> None:
    _, _, wanted = product()
    got = wanted.copy()
    got[0, 0] = bad
    assert not agree(difference(np, got, wanted), 1e9) and not agree(bad if bad != math.inf else None)


def test_another_shape_never_agrees_and_zeros_do_with_zeros() -> None:
    assert difference(np, np.zeros((2, 3)), np.zeros((3, 2))) == math.inf
    assert difference(np, np.zeros(3), np.zeros(3)) == 0
    assert difference(np, np.ones(4), np.zeros(4)) == 2.0


# --- devices ----------------------------------------------------------------------------------------------------


def card(root: Path, pci: str = "0000:03:00.0", vendor: str = "0x10de", kind: str = "0x030200") -> None:
    """A device on the bus, as the kernel shows it."""
    folder = root / "sys/bus/pci/devices" / pci
    folder.mkdir(parents=True)
    for name, text in (("vendor", vendor), ("class", kind), ("device", "0x1eb8")):
        (folder / name).write_text(text + "\n")


def driver(root: Path, pci: str = "0000:03:00.0", uuid: str = "GPU-8f0b") -> None:
    """The driver's files in /proc."""
    folder = root / "proc/driver/nvidia/gpus" / pci
    folder.mkdir(parents=True)
    (folder / "information").write_text(
        f"Model: \t\t Tesla T4\nIRQ:   \t\t 39\nGPU UUID: \t {uuid}\nBus Location: \t {pci}\n"
    )
    (root / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\nGCC version: gcc 12\n"
    )


class Error(Exception):
    """As pynvml's own: a number and words."""

    def __init__(self, value: int, text: str = "says no") -> None:
        super().__init__(text)
        self.value = value


class Nvml:
    """A driver's library that answers as told. The real binding is asked in the tests of the agent."""

    NVMLError = Error
    NVML_ERROR_LIBRARY_NOT_FOUND, NVML_ERROR_DRIVER_NOT_LOADED, NVML_ERROR_LIB_RM_VERSION_MISMATCH = 12, 9, 18
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, init: int = 0, cards: int = 1, lost: bool = False) -> None:
        self.init, self.cards, self.lost, self.open = init, cards, lost, 0

    def nvmlInit(self) -> None:
        if self.init:
            raise Error(self.init)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"550.90.07"

    def nvmlDeviceGetCount(self) -> int:
        return self.cards

    def nvmlDeviceGetHandleByIndex(self, at: int) -> int:
        if self.lost:
            raise Error(15, "GPU is lost")
        return at

    def nvmlDeviceGetName(self, handle: int) -> str:
        return "Tesla T4"

    def nvmlDeviceGetUUID(self, handle: int) -> str:
        return f"GPU-{handle}"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:
        return SimpleNamespace(total=15360 << 20, used=0)

    def nvmlDeviceGetCudaComputeCapability(self, handle: int) -> tuple[int, int]:
        return (7, 5)

    def nvmlDeviceGetPersistenceMode(self, handle: int) -> int:
        raise Error(3, "Not Supported")

    def nvmlDeviceGetPciInfo(self, handle: int) -> Any:
        return SimpleNamespace(busId=b"00000000:03:00.0")


def test_a_machine_without_anything_has_nothing(tmp_path: Path) -> None:
    found = devices.look(tmp_path, Nvml(init=12))
    assert found == Found(no_driver="no library") and not judge.seen(found)


def test_only_display_devices_of_nvidia_count(tmp_path: Path) -> None:
    card(tmp_path, "0000:00:0f.0", vendor="0x15ad", kind="0x030000")
    card(tmp_path, "0000:03:00.1", kind="0x040300")  # the sound of a card
    assert devices.on_bus(tmp_path) == ()
    card(tmp_path)
    card(tmp_path, "0000:04:00.0", kind="0x030000")
    assert [found.pci for found in devices.on_bus(tmp_path)] == ["0000:03:00.0", "0000:04:00.0"]


@pytest.mark.parametrize(("code", "why"), [(12, "no library"), (9, "not loaded"), (18, "mismatch"), (4, "refused")])
def test_why_the_driver_does_not_answer_is_told_apart(tmp_path: Path, code: int, why: str) -> None:
    card(tmp_path)
    found = devices.look(tmp_path, Nvml(init=code))
    assert found.no_driver == why and found.devices[0].name == "10de:1eb8" and found.on_bus == 1


def test_the_library_knows_most_and_what_it_cannot_say_is_not_known(tmp_path: Path) -> None:
    card(tmp_path)
    nvml = Nvml()
    (device,) = devices.look(tmp_path, nvml).devices
    assert device == Device("Tesla T4", "0000:03:00.0", "nvml", "GPU-0", 15360, 0, None, "7.5", None)
    assert nvml.open == 0, "the card is held no longer"


def test_without_the_binding_the_files_of_the_driver_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    card(tmp_path)
    driver(tmp_path)
    found = devices.look(tmp_path)
    assert found.driver == "550.90.07" and found.no_driver is None
    assert found.devices == (Device("Tesla T4", "0000:03:00.0", "proc", "GPU-8f0b"),)
    assert found.blind == "nvidia-ml-py is not installed"


def test_a_uuid_that_the_driver_does_not_know_yet_is_none(tmp_path: Path) -> None:
    driver(tmp_path, uuid="GPU-????????-????-????-????-????????????")
    assert devices.in_proc(tmp_path)[1][0].uuid is None


def test_the_open_kernel_module_has_a_version_too(tmp_path: Path) -> None:
    driver(tmp_path)
    (tmp_path / "proc/driver/nvidia/version").write_text(
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (dvs-builder)\n"
    )
    assert devices.in_proc(tmp_path)[0] == "575.57.08"


def test_a_lost_card_is_told_and_the_others_stay(tmp_path: Path) -> None:
    found = devices.look(tmp_path, Nvml(lost=True))
    assert found.devices[0].fault == "GPU is lost"
    assert any("does not answer: GPU is lost" in line for line in judge.warnings(found))


def test_a_card_that_the_driver_does_not_take_is_told(tmp_path: Path) -> None:
    card(tmp_path)
    found = devices.look(tmp_path, Nvml(cards=0))
    assert found.devices[0].source == "pci" and "The bus shows 1 card, the driver 0." in found.notes


def test_files_that_cannot_be_read_are_no_failure(tmp_path: Path) -> None:
    (tmp_path / "sys/bus/pci/devices/0000:03:00.0/vendor").mkdir(parents=True)
    (tmp_path / "proc/driver").mkdir(parents=True)
    (tmp_path / "proc/driver/nvidia").write_text("a file")
    assert devices.look(tmp_path, Nvml(init=9)).devices == ()


def test_a_blackwell_card_is_warned_of_first() -> None:
    found = Found((Device("NVIDIA RTX PRO 6000", "0000:03:00.0", "nvml", capability="12.0"),), "580.1")
    assert any("Blackwell" in line and "minutes" in line for line in judge.warnings(found))
    assert judge.warnings(Found((Device("H100", "", "nvml", capability="9.0"),))) == ()


# --- the verdict ------------------------------------------------------------------------------------------------

T4 = Device("Tesla T4", "0000:03:00.0", "nvml", "GPU-0", 15360, 0, 31, "7.5", True)
ON_BUS = Device("10de:1eb8", "0000:03:00.0", "pci")
WORKS = Found((T4,), "550.90.07", on_bus=1)


def ran(*gpus: str, cuda: bool = True, **changes: Any) -> Ran:
    """What a sound child left; keys of `changes` spoil the record of the stage and device that they name."""
    cards = [{"device": gpu, "name": "Tesla T4", "capability": "7.5"} for gpu in gpus]
    build = {
        "version": "2.21.0",
        "cuda_build": cuda,
        "cuda": "12.5.1" if cuda else None,
        "cudnn": "9" if cuda else None,
    }
    stages: list[dict[str, Any]] = [
        {"stage": "data", "source": "digits drawn here, seed 1", "train": 4096, "test": 1024},
        {"stage": "tensorflow", **build, "gpus": cards},
    ]
    for device in ("CPU:0", *gpus):
        stages.append({
            "stage": "matmul", "device": device, "ran_on": device, "difference": 3e-7, "tf32": True, "difference_as_set": 3e-7,
            "right": True, "gflops": 110.0,
        })  # fmt: skip
    for device in gpus or ("CPU:0",):
        stages.append({
            "stage": "training", "device": device, "ran_on": device, "weights_on": [device], "losses": [2.2, 0.3],
            "accuracy": 0.93, "learnt": True, "seconds": 2.0,
        })  # fmt: skip
    for record in stages:
        record.update(changes.get(f"{record['stage']}_{str(record.get('device', '')).replace(':', '')}", {}))
    return Ran((*stages, {"stage": "end"}), (("Conv2D", "CPU:0", 4), ("MatMul", "GPU:0", 2)))


def verdict(found: Found, left: Ran, expect: bool = False, cpu: bool = False, **environ: str) -> tuple[int, str | None]:
    judged = judge.judge(found, left, expect, cpu, environ)
    assert judged.line and "\n" not in judged.line
    return judged.exit, judged.reason


def test_all_well_on_the_card() -> None:
    assert verdict(WORKS, ran("GPU:0")) == (0, None)
    assert verdict(WORKS, ran("GPU:0", "GPU:1"), expect=True) == (0, None)


def test_no_card_is_the_processor_alone_unless_one_is_expected() -> None:
    assert verdict(Found(), ran(cuda=False)) == (10, None)
    assert verdict(Found(), ran(cuda=False), expect=True) == (20, "no device")
    assert verdict(WORKS, ran(), cpu=True) == (10, None)


@pytest.mark.parametrize("why", ["no library", "not loaded", "mismatch", "refused", None])
def test_a_card_without_a_driver_that_works(why: str | None) -> None:
    found = Found((ON_BUS,), None, why, on_bus=1)
    assert verdict(found, ran()) == (20, "no driver")
    line = judge.judge(found, ran(), False, False, {}).line
    assert {"mismatch": "restart the machine", None: "dmesg"}.get(why, "install NVIDIA's driver") in line


def test_a_tensorflow_without_cuda_and_one_that_cannot_load_its_libraries() -> None:
    assert verdict(WORKS, ran(cuda=False)) == (20, "no cuda")
    left = replace(ran(), errors=("W0000 gpu_device.cc:2342] Cannot dlopen some GPU libraries.",))
    assert verdict(WORKS, left) == (20, "no libraries")
    line = judge.judge(WORKS, left, False, False, {}).line
    assert "libcuda1" in judge.judge(WORKS, replace(ran(), libcuda=False), False, False, {}).line
    assert "Cannot dlopen" in line and "CUDA 12.5.1 and cuDNN 9" in line and "tensorflow[and-cuda]" in line


def test_a_card_that_is_hidden_is_no_trouble_of_libraries() -> None:
    assert verdict(WORKS, ran(), CUDA_VISIBLE_DEVICES="-1") == (20, "hidden")
    assert verdict(WORKS, ran(), CUDA_VISIBLE_DEVICES="0") == (20, "no libraries")


@pytest.mark.parametrize(
    "changes",
    [
        {"matmul_CPU0": {"right": False, "difference": 1e-3}},
        {"matmul_GPU0": {"right": False, "difference": None}},
        {"matmul_GPU0": {"right": False, "difference_as_set": 0.01}},
        {"training_GPU0": {"learnt": False, "accuracy": 0.1, "losses": [2.3, None]}},
    ],
    ids=["processor", "no number", "as users have it", "does not learn"],
)
def test_a_wrong_result_is_that_whatever_else_is(changes: Any) -> None:
    assert verdict(WORKS, ran("GPU:0", **changes)) == (1, None)


def test_work_that_ran_elsewhere_is_not_on_the_card() -> None:
    """Success says nothing: with soft placement the processor does it without a word."""
    for stage in ("matmul_GPU0", "training_GPU0"):
        assert verdict(WORKS, ran("GPU:0", **{stage: {"ran_on": "CPU:0"}})) == (20, "fails")


def test_a_card_that_fails_at_work_is_not_usable_and_its_error_is_told() -> None:
    left = ran("GPU:0", matmul_GPU0={"error": "InternalError: no kernel image is available"})
    assert verdict(WORKS, left) == (20, "fails")
    assert "no kernel image" in judge.judge(WORKS, left, False, False, {}).line
    died = Ran(ran("GPU:0").stages[:3], ended="was ended by SIGSEGV")
    assert verdict(WORKS, died) == (20, "fails")


def test_dying_without_a_card_is_a_check_that_was_not_finished() -> None:
    assert verdict(Found(), Ran(ended="took longer than 600 s")) == (40, None)
    assert verdict(Found(), Ran(ran().stages[:-1])) == (40, None)
    assert "AVX" in judge.judge(Found(), Ran(ended="was ended by SIGILL"), False, False, {}).line


@pytest.mark.parametrize("stage", ["matmul", "training"])
def test_what_did_not_run_on_the_processor_is_never_called_right(stage: str) -> None:
    """An error there is neither a wrong result nor a sound one; nor is a stage that was left out."""
    assert verdict(Found(), ran(**{f"{stage}_CPU0": {"error": "InternalError: x"}})) == (40, None)
    left = ran()
    assert verdict(Found(), Ran(tuple(record for record in left.stages if record["stage"] != stage))) == (40, None)
    without = tuple(x for x in ran("GPU:0").stages if (x["stage"], x.get("device")) != (stage, "GPU:0"))
    assert verdict(WORKS, Ran(without)) == (40, None)


def test_a_file_that_cannot_be_used_and_a_tensorflow_that_does_not_load() -> None:
    assert verdict(WORKS, Ran(({"stage": "data", "wrong": "x.npz has no y_test"},))) == (2, None)
    broken = Ran(({"stage": "tensorflow", "error": "ImportError: libfoo"},))
    assert verdict(WORKS, broken) == (30, None)


def test_what_to_install_depends_on_the_card() -> None:
    assert judge.missing(WORKS).line.endswith("pip install 'tensorflow[and-cuda]'")
    assert judge.missing(Found()).line.endswith("pip install tensorflow-cpu")
    assert judge.missing(Found(), expect=True).line.endswith("pip install 'tensorflow[and-cuda]'")


# --- what the child leaves --------------------------------------------------------------------------------------


def test_placement_counts_what_computes_by_op_and_device() -> None:
    text = (
        "input: (_Arg): /job:localhost/replica:0/task:0/device:CPU:0\n"
        "a/Conv2D: (Conv2D): /job:localhost/replica:0/task:0/device:GPU:0\n"
        "b/Conv2D: (Conv2D): /job:localhost/replica:0/task:0/device:GPU:0\n"
        "MatMul: (_MklMatMul): /job:localhost/replica:0/task:0/device:CPU:0\n"
        "c: (_FusedConv2D): /job:localhost/replica:0/task:0/device:CPU:0\n"
        "something else that a library printed\n"
    )
    assert child.placed(text) == (("Conv2D", "CPU:0", 1), ("MatMul", "CPU:0", 1), ("Conv2D", "GPU:0", 2))


NOISE = """\
2026-11-30 11:00:00.1: I tensorflow/core/util/port.cc:153] oneDNN custom operations are on.
WARNING: All log messages before absl::InitializeLog() is called are written to STDERR
I0000 00:00:1796036676.179190    2989 port.cc:153] oneDNN custom operations are on. You may see slightly different
2026-11-30 11:00:01.2: I external/local_xla/xla/tsl/cuda/cudart_stub.cc:31] Could not find cuda drivers on your machine, GPU will not be used.
E0000 00:00:1 3 cuda_executor.cc:1] failed call to cuInit: INTERNAL: CUDA error: Failed call to cuInit: UNKNOWN ERROR (303)
"""


def test_the_noise_of_a_sound_machine_is_not_repeated_and_real_errors_are() -> None:
    real = "W0000 00:00:1 3 gpu_device.cc:2342] Cannot dlopen some GPU libraries."
    assert child.errors(NOISE) == ()
    assert child.errors(NOISE + real + "\n" + real + "\n") == (real,)


def test_lines_that_a_dying_child_cut_off_are_left_out() -> None:
    assert child.stages('{"stage": "data"}\n{"stage": "tens') == [{"stage": "data"}]


def test_how_a_process_ended_is_in_words() -> None:
    assert [child.how(code) for code in (0, 3, -11)] == [None, "ended with code 3", "was ended by SIGSEGV"]


# --- words and JSON ---------------------------------------------------------------------------------------------


def test_devices_are_listed_as_nvidia_smi_does() -> None:
    text = report.devices(WORKS)
    assert text.startswith("GPU 0: Tesla T4 (UUID: GPU-0)\n")
    assert "0 of 15360 MiB used" in text and "compute 7.5" in text and "persistence on" in text and "550.90.07" in text
    assert report.devices(Found()) == "No NVIDIA card in this machine."
    assert "no driver" in report.devices(Found((ON_BUS,)))


def test_the_text_says_tolerance_result_and_place() -> None:
    text = report.work(ran("GPU:0"))
    assert "Product   GPU:0  right: off by 3.0e-07 from numpy's, 1e-05 allowed (TF32 off)" in text
    assert "ran on GPU:0" in text and "93% right" in text
    assert "Placed on GPU:0  MatMul 2" in text and "Placed on CPU:0  Conv2D 4" in text


def test_each_spoilt_record_can_be_told() -> None:
    left = ran(
        "GPU:0", matmul_GPU0={"error": "InternalError: x"},
        training_GPU0={"learnt": False, "losses": [2.3, None], "accuracy": 0.1},
        matmul_CPU0={"difference": None, "right": False},
    )  # fmt: skip
    text = report.work(left)
    assert (
        "does not run: InternalError: x" in text
        and "DOES NOT LEARN: loss 2.30 ?" in text
        and "WRONG: no numbers" in text
    )


def test_errors_of_tensorflow_are_shown_when_something_failed_and_only_then() -> None:
    left = replace(ran(cuda=False), errors=("a real error",))
    assert "a real error" in report.end(judge.judge(WORKS, left, False, False, {}), left)
    assert "a real error" not in report.end(judge.judge(Found(), left, False, False, {}), left)


def test_the_json_holds_the_verdict_and_no_number_that_json_lacks() -> None:
    left = ran("GPU:0", matmul_GPU0={"difference": None, "right": False})
    judged = judge.judge(WORKS, left, False, False, {})
    made = json.loads(json.dumps(report.as_json(WORKS, left, judged, ("w",), 4.2), allow_nan=False))
    assert (made["schema"], made["exit"], made["line"], made["driver"]) == (1, 1, judged.line, "550.90.07")
    assert made["devices"][0]["uuid"] == "GPU-0" and made["warnings"] == ["w"]
    assert made["placement"] == [
        {"op": "Conv2D", "device": "CPU:0", "count": 4},
        {"op": "MatMul", "device": "GPU:0", "count": 2},
    ]
    assert made["matmul"][1]["difference"] is None and made["training"][0]["device"] == "GPU:0"
