"""``python -m bot.guest.kit``."""

import sys

from bot.guest.kit.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
