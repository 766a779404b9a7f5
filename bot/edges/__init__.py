"""The edges of gpubot: each library has one home here, and no edge knows another. Wiring alone plugs them together."""
