"""Measurements; each file is run by itself, see the Makefile."""
