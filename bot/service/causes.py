"""Why something could not be reached, in words: the innermost cause of an exception, on one line.

Called by edges and chores where they log or tell a failure: a name of a class says nothing to who has to mend it.
"""

from __future__ import annotations

import socket
import ssl

MOST = 200
"""Characters of a cause."""


def cause(error: BaseException) -> str:
    """What is behind an exception: ``connection refused``, ``name or service not known``, ``no answer in time``."""
    inner = _innermost(error)
    return " ".join(_words(inner).split())[:MOST]


def _innermost(error: BaseException) -> BaseException:
    """Down the reasons that exceptions carry, and what they were raised from; never round in a circle."""
    met: list[BaseException] = []
    while error not in met:
        met.append(error)
        reason = getattr(error, "reason", None)  # of a URLError
        error = reason if isinstance(reason, BaseException) else error.__cause__ or error
    return error


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {getattr(error, 'verify_message', '') or error}"
    if isinstance(error, socket.gaierror):
        return f"its name is not known: {(error.strerror or 'no address').lower()}"
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError):
        return error.strerror.lower()
    reason = getattr(error, "reason", None)
    said = reason if isinstance(reason, str) and reason else str(error)
    return said.strip() or f"no word of why ({type(error).__name__})"
