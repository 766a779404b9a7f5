"""What guests and meters tell: the intake of readings."""
