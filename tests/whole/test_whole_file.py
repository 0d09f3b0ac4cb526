"""Files are written whole or not at all."""

import os

import pytest

from meseta.whole_file import removed_if_it_fails, write_whole


def test_text_and_bytes_are_written(folder):
    path = folder / "page.md"
    write_whole(path, "é \ud800\n")  # half a surrogate pair
    assert path.read_text(encoding="utf-8") == "é ?\n"
    write_whole(path, b"\0")
    assert path.read_bytes() == b"\0"


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_was_there_stays_where_writing_fails(folder, monkeypatch, step):
    path = folder / "page.md"
    path.write_text("old")

    def full(*_):
        raise OSError("the disk is full")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="full"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in folder.iterdir()] == ["page.md"]


def test_a_new_file_is_removed_where_writing_fails(folder):
    with removed_if_it_fails((folder / "whole.toml").open("x")):
        pass
    with pytest.raises(OSError, match="full"), removed_if_it_fails((folder / "a.toml").open("x")):
        raise OSError("the disk is full")
    assert [each.name for each in folder.iterdir()] == ["whole.toml"]
