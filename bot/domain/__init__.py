"""The rules of gpubot: pure values and pure functions. Standard library only; no clock, network, logging or database."""
