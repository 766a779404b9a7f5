"""The part of the check that needs TensorFlow, in a process of its own.

Called by ``child.py`` alone. It writes what it finds as lines of JSON, one a stage, into the file that it is told; stdout is left to
TensorFlow, which writes there on which device each node was placed. A stage that fails is a line with its error, so that whoever
reads knows how far it came, even if the process then dies.
"""

from __future__ import annotations

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

from bot.guest.check import digits
from bot.guest.check.sums import TOLERANCE, TOLERANCE_TF32, agree, difference

SIZE, TIMED = 1024, 2048
"""Rows and columns of the product that is compared, and of the one that is timed."""
TRAIN, TEST, BATCH, EPOCHS = 4096, 1024, 64, 4
GOOD = 0.7
"""Share of the digits, never seen before, that a sound run tells right; it reaches 0.9 and more."""
CPU = "CPU:0"


class Book:
    """The file of the stages."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, stage: str, **facts: Any) -> None:
        """One line, on the disk at once."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"stage": stage, **facts}) + "\n")


def main(told: dict[str, Any]) -> None:
    """`told` has results (path), data (path or None), cpu (bool: leave cards alone) and seed."""
    book = Book(Path(told["results"]))
    import numpy as np

    try:
        data = told["data"]
        images = digits.read(np, Path(data), TRAIN, TEST) if data else digits.drawn(np, TRAIN, TEST, told["seed"])
    except digits.DataError as error:
        book.write("data", wrong=str(error))
        return
    book.write("data", source=images.source, train=len(images.train), test=len(images.test))

    try:
        import tensorflow as tf
    except Exception as error:  # noqa: BLE001  whatever a broken installation raises is the finding
        book.write("tensorflow", error=_line(error))
        return
    cards = _begin(tf, told, book)
    product(np, tf, CPU, book)
    working = [card for card in cards if product(np, tf, card, book)]
    for device in working or [CPU]:
        train(np, tf, device, images, told["seed"], book)
    book.write("end")


def _begin(tf: Any, told: dict[str, Any], book: Book) -> list[str]:
    """Which TensorFlow this is and which cards it takes, with memory growth on; "GPU:0" and so on."""
    tf.debugging.set_log_device_placement(True)
    if told["cpu"]:
        tf.config.set_visible_devices([], "GPU")
    gpus = tf.config.get_visible_devices("GPU")
    for gpu in gpus:
        # Else TensorFlow takes nearly all memory of the card, beside a colleague's work.
        tf.config.experimental.set_memory_growth(gpu, True)
    built = tf.sysconfig.get_build_info()
    details = [tf.config.experimental.get_device_details(gpu) for gpu in gpus]
    book.write(
        "tensorflow",
        version=tf.__version__,
        cuda_build=bool(tf.test.is_built_with_cuda()),
        cuda=built.get("cuda_version"),
        cudnn=built.get("cudnn_version"),
        gpus=[
            {
                "device": f"GPU:{at}",
                "name": known.get("device_name"),
                "capability": ".".join(str(part) for part in known.get("compute_capability", ())) or None,
            }
            for at, known in enumerate(details)
        ],
    )
    return [f"GPU:{at}" for at in range(len(gpus))]


def _line(error: BaseException) -> str:
    """An error in one line of bearable length."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:400]


def where(tensor: Any) -> str:
    """On which device a result lies, "CPU:0"; this, not success, says where it was computed."""
    return str(tensor.device).rpartition("device:")[2]


# ---- the product


def product(np: Any, tf: Any, device: str, book: Book) -> bool:
    """One product in float32 on a device, strictly there, against numpy in float64; and how fast it goes. Whether it ran."""
    chance = np.random.RandomState(7)
    left, right = (chance.standard_normal((SIZE, SIZE)).astype(np.float32) for _ in range(2))
    wanted = left.astype(np.float64) @ right.astype(np.float64)
    # With soft placement, the default, a part that is meant for a card runs on the processor without a word.
    tf.config.set_soft_device_placement(False)
    tf32 = tf.config.experimental.tensor_float_32_execution_enabled()
    try:
        with tf.device(f"/{device}"):
            tf.config.experimental.enable_tensor_float_32_execution(False)
            got = tf.linalg.matmul(tf.constant(left), tf.constant(right))
            error = difference(np, got.numpy(), wanted)
            tf.config.experimental.enable_tensor_float_32_execution(tf32)
            usual = difference(np, tf.linalg.matmul(tf.constant(left), tf.constant(right)).numpy(), wanted)
            seconds = _timed(tf)
    except Exception as failure:  # noqa: BLE001  every error of TensorFlow is the finding
        book.write("matmul", device=device, error=_line(failure))
        return False
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(tf32)
        tf.config.set_soft_device_placement(True)
    book.write(
        "matmul",
        device=device,
        ran_on=where(got),
        difference=_number(error),
        tf32=bool(tf32),
        difference_as_set=_number(usual),
        right=agree(error, TOLERANCE) and agree(usual, TOLERANCE_TF32),
        gflops=round(2 * TIMED**3 / seconds / 1e9, 1),
    )
    return True


def _timed(tf: Any) -> float:
    """Seconds of the quicker of two larger products, after one that sets things up."""
    square = tf.random.stateless_normal((TIMED, TIMED), seed=(1, 2))
    best = math.inf
    for _ in range(3):
        begun = time.perf_counter()
        tf.linalg.matmul(square, square).numpy()
        best = min(best, time.perf_counter() - begun)
    return best


def _number(value: float) -> float | None:
    """JSON has no infinity: None stands for what is no number."""
    return value if math.isfinite(value) else None


# ---- the network


def train(np: Any, tf: Any, device: str, images: digits.Images, seed: int, book: Book) -> None:
    """A small network of two convolutions learns digits on a device. Adam, by hand, so that no more of TensorFlow is needed."""
    begun = time.perf_counter()
    try:
        with tf.device(f"/{device}"):
            net = _Net(np, tf, seed)
            order, losses, lies_on = np.random.RandomState(seed), [], ""
            for _ in range(EPOCHS):
                total, batches = 0.0, 0
                turn = order.permutation(len(images.train))
                for at in range(0, len(turn) - BATCH + 1, BATCH) or (0,):
                    some = turn[at : at + BATCH]
                    loss = net.step(net.pixels(images.train[some]), tf.constant(images.train_labels[some]))
                    total, batches, lies_on = total + float(loss), batches + 1, where(loss)
                losses.append(total / batches)
            told = [net.tell(net.pixels(images.test[at : at + 256])).numpy() for at in range(0, len(images.test), 256)]
    except Exception as failure:  # noqa: BLE001  every error of TensorFlow is the finding
        book.write("training", device=device, error=_line(failure))
        return
    accuracy = float((np.concatenate(told).argmax(axis=1) == images.test_labels).mean())
    fell = all(math.isfinite(loss) for loss in losses) and losses[-1] < losses[0]
    book.write(
        "training",
        device=device,
        ran_on=lies_on,
        weights_on=sorted({where(weight.read_value()) for weight in net.weights}),
        losses=[_number(round(loss, 4)) for loss in losses],
        accuracy=round(accuracy, 4),
        learnt=bool(fell and accuracy > GOOD),
        seconds=round(time.perf_counter() - begun, 1),
    )


class _Net:
    """Two convolutions with pooling, one hidden layer: 105,000 weights, about as the examples for MNIST have it."""

    def __init__(self, np: Any, tf: Any, seed: int) -> None:
        chance = np.random.RandomState(seed)
        self.tf, self.weights = tf, []
        for shape in ((3, 3, 1, 16), (16,), (3, 3, 16, 32), (32,), (7 * 7 * 32, 64), (64,), (64, 10), (10,)):
            scale = math.sqrt(2.0 / np.prod(shape[:-1])) if len(shape) > 1 else 0.0
            self.weights.append(tf.Variable((chance.standard_normal(shape) * scale).astype(np.float32)))
        self.means = [tf.Variable(tf.zeros_like(weight)) for weight in self.weights]
        self.squares = [tf.Variable(tf.zeros_like(weight)) for weight in self.weights]
        self.count = tf.Variable(0.0)
        self.step, self.tell = tf.function(self._step), tf.function(self._tell)

    def pixels(self, images: Any) -> Any:
        """Images as the network takes them: float32 of 0 to 1, one channel."""
        return self.tf.constant(images[..., None].astype("float32") / 255.0)

    def _tell(self, pixels: Any) -> Any:
        """How sure it is of each of the ten digits."""
        nn, (k1, b1, k2, b2, w3, b3, w4, b4) = self.tf.nn, self.weights
        for kernel, bias in ((k1, b1), (k2, b2)):
            pixels = nn.relu(nn.bias_add(nn.conv2d(pixels, kernel, strides=1, padding="SAME"), bias))
            pixels = nn.max_pool2d(pixels, ksize=2, strides=2, padding="SAME")
        flat = self.tf.reshape(pixels, (-1, 7 * 7 * 32))
        hidden = nn.relu(self.tf.linalg.matmul(flat, w3) + b3)
        return self.tf.linalg.matmul(hidden, w4) + b4

    def _step(self, pixels: Any, labels: Any) -> Any:
        """Learn from a batch; the mean loss before it."""
        tf = self.tf
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=self._tell(pixels))
            )
        self.count.assign_add(1.0)
        pace = 2e-3 * tf.sqrt(1 - 0.999**self.count) / (1 - 0.9**self.count)
        for weight, mean, square, slope in zip(
            self.weights, self.means, self.squares, tape.gradient(loss, self.weights)
        ):
            mean.assign(0.9 * mean + 0.1 * slope)
            square.assign(0.999 * square + 0.001 * slope * slope)
            weight.assign_sub(pace * mean / (tf.sqrt(square) + 1e-7))
        return loss


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
