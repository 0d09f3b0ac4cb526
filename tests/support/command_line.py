"""Commands as people type them, in the process of the test."""

from typer.testing import CliRunner

from meseta.cli import app


def typed(*words, code=0, answer=None):
    result = CliRunner().invoke(app, [str(word) for word in words], input=answer)
    assert result.exit_code == code, (result.output, result.exception)
    return result
