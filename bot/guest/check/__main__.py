"""``python -m bot.guest.check``."""

import sys

from bot.guest.check.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "python -m bot.guest.check"))
