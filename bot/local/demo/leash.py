"""``python -m bot.local.demo.leash MODULE [ARGUMENTS]``: a module as a program that ends with whoever started it.

The starter keeps the other end of standard input and never writes. When it is gone, however it went, the pipe is at its end, and
this process is told to stop as by a person: nothing of the demo is left behind. Started by ``processes.py`` alone.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading


def main() -> None:
    """Hold on to standard input on a small thread; be the module on this one."""
    threading.Thread(target=_hold, name="leash", daemon=True).start()
    del sys.argv[0]  # runpy puts the module's own path in the place of its name
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _hold() -> None:
    # os.read, not sys.stdin: a thread in a buffered read would hold the lock that the interpreter wants at its end
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
