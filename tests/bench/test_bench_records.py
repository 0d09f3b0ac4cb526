"""Records on disk: nothing lost, nothing twice, nothing made up."""

import json
import multiprocessing
import os

import numpy as np
import pytest

from bench_records import made_up
from meseta.bench.job import Job, read_method, write_method
from meseta.bench.records import (
    ARRAYS,
    RunRecord,
    Writing,
    append_run,
    failed,
    path_of,
    read_lines,
    read_runs,
)


def same(a, b):
    assert a.job == b.job
    assert (a.state, a.error, a.warnings, a.messages) == (b.state, b.error, b.warnings, b.messages)
    assert (a.settings, a.versions) == (b.settings, b.versions)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-8, strict=True)
    assert a.seconds.keys() == b.seconds.keys()
    for part in a.seconds:
        np.testing.assert_allclose(a.seconds[part], b.seconds[part], rtol=1e-3)


def test_records_come_back_as_they_were(tmp_path):
    records = [
        made_up(seed=0, regret=[1 / 3, 2e-9 / 3, 1e-15 / 3]),
        made_up(seed=1, state="failed"),
        failed(Job("gmm", "rkg", (), 2, "paper", 30), "the machine caught fire\nÄh"),
    ]
    for record in records:
        append_run(tmp_path, record)
    back = read_runs(tmp_path, "gmm", "rkg", RunRecord.from_json)
    assert list(back) == [record.job for record in records]
    for record in records:
        same(back[record.job], record)
    again = RunRecord.from_json(back[records[0].job].to_json())
    assert again.to_json() == back[records[0].job].to_json()


def test_numbers_have_nine_digits_and_a_record_is_one_line(tmp_path):
    append_run(tmp_path, made_up(regret=[1 / 3, 1e-8 / 3]))
    text = path_of(tmp_path, "gmm", "rkg").read_text()
    assert text.count("\n") == 1
    assert json.loads(text)["regret"] == [0.333333333, 3.33333333e-9]


def test_methods_with_options_have_files_of_their_own(tmp_path):
    a, b = made_up(method="nes-ep"), made_up(method="nes-ep:num_max_values=3")
    append_run(tmp_path, a)
    append_run(tmp_path, b)
    assert list(read_runs(tmp_path, "gmm", b.job.label, RunRecord.from_json)) == [b.job]
    assert path_of(tmp_path, "gmm", b.job.label).name == "nes-ep,num_max_values=3.jsonl"


@pytest.mark.parametrize("kept", [1, 40, -2])
def test_a_torn_last_line_is_ignored_and_repaired(tmp_path, kept):
    for seed in range(3):
        append_run(tmp_path, made_up(seed=seed))
    path = path_of(tmp_path, "gmm", "rkg")
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rindex(b"\n") + 1
    path.write_bytes(whole[:start] + whole[start:][:kept])
    assert [job.seed for job in read_runs(tmp_path, "gmm", "rkg", RunRecord.from_json)] == [0, 1]
    append_run(tmp_path, made_up(seed=7))
    assert [line["seed"] for line in read_lines(path)] == [0, 1, 7]


def test_a_line_that_lacks_only_its_end_counts(tmp_path):
    append_run(tmp_path, made_up(seed=0))
    path = path_of(tmp_path, "gmm", "rkg")
    path.write_bytes(path.read_bytes()[:-1])
    assert [job.seed for job in read_runs(tmp_path, "gmm", "rkg", RunRecord.from_json)] == [0]
    append_run(tmp_path, made_up(seed=1))
    assert [line["seed"] for line in read_lines(path)] == [0, 1]


def test_damage_in_the_middle_is_an_error(tmp_path):
    append_run(tmp_path, made_up(seed=0))
    path = path_of(tmp_path, "gmm", "rkg")
    path.write_bytes(b"{ oops\n" + path.read_bytes())
    with pytest.raises(ValueError, match=r"line 1 of .*rkg.jsonl is no record"):
        read_runs(tmp_path, "gmm", "rkg", RunRecord.from_json)


def test_a_disk_that_fills_up_leaves_no_torn_line(tmp_path, monkeypatch):
    append_run(tmp_path, made_up(seed=0))
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:10]))
    with pytest.raises(OSError, match="is the disk full"):
        append_run(tmp_path, made_up(seed=1))
    assert path_of(tmp_path, "gmm", "rkg").read_bytes().endswith(b"}\n")


def test_a_complete_run_counts_before_a_failed_one(tmp_path):
    for record in (made_up(state="failed"), made_up(), made_up(state="failed")):
        append_run(tmp_path, record)
    (record,) = read_runs(tmp_path, "gmm", "rkg", RunRecord.from_json).values()
    assert record.state == "complete"


def hold(folder, holding, release):
    with Writing(folder):
        holding.set()
        release.wait(30)


def test_one_process_writes_at_a_time_and_its_death_frees_the_folder(tmp_path):
    spawn = multiprocessing.get_context("spawn")
    holding, release = spawn.Event(), spawn.Event()
    other = spawn.Process(target=hold, args=(tmp_path, holding, release))
    other.start()
    try:
        assert holding.wait(30)
        with pytest.raises(RuntimeError, match="another process writes to"), Writing(tmp_path):
            pass
    finally:
        other.kill()
        other.join()
    with Writing(tmp_path):
        pass


def test_labels_of_methods():
    name, options = read_method("nes-ep:num_max_values=10:sampler=sparse-spectrum")
    assert (name, options) == (
        "nes-ep",
        (("num_max_values", 10), ("sampler", "sparse-spectrum")),
    )
    assert read_method(write_method(name, options)) == (name, options)
    # the default of an option is no option
    assert read_method("nes-ep:num_max_values=1") == ("nes-ep", ())
    assert read_method("unscented-ei:kappa=1") == read_method("unscented-ei")
    assert read_method("unscented-ei:kappa=2") == ("unscented-ei", (("kappa", 2.0),))


@pytest.mark.parametrize(
    ("label", "hint"),
    [
        ("nes-pe", "did you mean 'nes-ep'"),
        ("nes-ep:num_max_value=3", "did you mean 'num_max_values'"),
        ("nes-ep:num_max_values", "written name=value"),
        ("nes-ep:num_max_values=many", "whole number"),
    ],
)
def test_wrong_labels_say_what_is_meant(label, hint):
    with pytest.raises((ValueError, TypeError), match=hint):
        read_method(label)
