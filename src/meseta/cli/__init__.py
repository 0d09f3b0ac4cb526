"""The command line."""

from meseta.cli.app import app, start

__all__ = ["app", "start"]
