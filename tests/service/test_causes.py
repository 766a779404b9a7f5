"""The cause of a failure in words: what is behind the exceptions that libraries put around it."""

import socket
import ssl
import urllib.request
from urllib.error import URLError

import pytest

from bot.service.causes import cause


def raised(outer: Exception, inner: BaseException) -> Exception:
    try:
        raise outer from inner
    except type(outer) as error:
        return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (URLError(ConnectionRefusedError(111, "Connection refused")), "connection refused"),
        (URLError(TimeoutError("timed out")), "no answer in time"),
        (
            URLError(socket.gaierror(-2, "Name or service not known")),
            "its name is not known: name or service not known",
        ),
        (URLError("no host given"), "no host given"),
        (TimeoutError(), "no answer in time"),
        (
            raised(RuntimeError("outer"), ConnectionResetError(104, "Connection reset by peer")),
            "connection reset by peer",
        ),
        (ValueError(), "no word of why (ValueError)"),
        (ValueError("two\nlines"), "two lines"),
        (ssl.SSLCertVerificationError(1, "x"), "its certificate is not trusted: "),
    ],
)
def test_the_cause_is_in_words(error: Exception, words: str) -> None:
    assert cause(error).startswith(words) and "Error" not in words.replace("(ValueError)", "")


def test_of_a_real_call_to_a_closed_port() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(URLError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5)
    assert cause(refused.value) == "connection refused"


def test_a_circle_of_causes_ends() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert cause(one) in ("one", "two")
    assert len(cause(ValueError("x" * 999))) == 200
