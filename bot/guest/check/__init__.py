"""The check that a card works: the same sums on processor and card, a small network, and where each part of it ran.

Called by people in the guest (``gpubot check``, ``gpubot-check.pyz``) and by the agent for the order ``quick check``. Python 3.9
syntax and the standard library; numpy and TensorFlow are imported in a child process, so that neither their noise nor their crash
reaches whoever asked. It changes nothing on the machine.
"""
