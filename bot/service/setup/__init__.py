"""Letting the bot in: what ``gpubot init`` writes and what ``gpubot doctor`` finds. Wiring gives it the eyes, cli shows what comes out.

``facts`` are the values that edges bring home, ``judge_…`` turn them into ``findings`` (pure, and the words stand there), ``doctor`` runs
the checks side by side and in bounded time, ``show`` is what is printed. ``role`` is the list of privileges; ``first`` writes the first
settings. Nothing here changes anything anywhere, and nothing here holds a secret.
"""
