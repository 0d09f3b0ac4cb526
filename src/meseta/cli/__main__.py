"""`python -m meseta.cli` is `meseta`."""

from meseta.cli.app import start

start()
