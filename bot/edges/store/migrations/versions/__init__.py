"""One file a step. The names of all steps stand in ``schema.STEPS``, in order."""
