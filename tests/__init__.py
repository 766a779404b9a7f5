"""The tests, a folder a room, as in `bot/`."""
