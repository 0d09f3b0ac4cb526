"""Packed records: the same as before, whenever the power fails, and a campaign goes on."""

import gzip
import os

import pytest

from bench_records import made_up
from meseta.bench import compression as packing
from meseta.bench import one_run
from meseta.bench.campaign import campaign, progress
from meseta.bench.compression import pack, squeezed
from meseta.bench.plan import make_plan
from meseta.bench.records import (
    RunRecord,
    Writing,
    append_line,
    append_run,
    packed_path,
    path_of,
    read_lines,
    read_runs,
)
from meseta.bench.timing import Timing, timings
from meseta.bench.workers import processes


def filled(folder, seeds=range(3), methods=("rkg", "ei:k=3")):
    for method in methods:
        for seed in seeds:
            append_run(folder, made_up(method=method, seed=seed))
    return [path_of(folder, "gmm", method) for method in methods]


def told(folder):
    """All that is read of a method, as text."""
    return [
        record.to_json() for record in read_runs(folder, "gmm", "rkg", RunRecord.from_json).values()
    ]


def test_packed_records_come_back_as_they_were(tmp_path):
    paths = filled(tmp_path)
    before, texts = told(tmp_path), [path.read_bytes() for path in paths]
    packed = pack(tmp_path)
    assert sorted(found.path for found in packed) == sorted(map(packed_path, paths))
    assert not any(path.exists() for path in paths)
    assert told(tmp_path) == before
    assert [gzip.decompress(packed_path(path).read_bytes()) for path in paths] == texts
    for found in packed:
        assert found.after == found.path.stat().st_size < found.before


def test_lines_that_came_later_count_after_the_packed_ones(tmp_path):
    append_run(tmp_path, made_up(seed=0, state="failed"))
    append_run(tmp_path, made_up(seed=1))
    pack(tmp_path)
    append_run(tmp_path, made_up(seed=0))
    append_run(tmp_path, made_up(seed=2))
    path = path_of(tmp_path, "gmm", "rkg")
    assert [line["seed"] for line in read_lines(path)] == [0, 1, 0, 2]
    runs = read_runs(tmp_path, "gmm", "rkg", RunRecord.from_json)
    assert {job.seed: record.state for job, record in runs.items()} == dict.fromkeys(
        range(3), "complete"
    )
    before = list(read_lines(path))
    pack(tmp_path)
    assert list(read_lines(path)) == before
    assert not path.exists()


def test_the_same_records_give_the_same_bytes(tmp_path):
    first, second, third = (tmp_path / name for name in "abc")
    (path, _), _, _ = filled(first), filled(second), filled(third, range(2))
    pack(first)
    before = packed_path(path).read_bytes()
    assert pack(first) == []
    assert packed_path(path).read_bytes() == before
    pack(second)
    pack(third)
    filled(third, [2])
    pack(third)
    for folder in (second, third):
        assert packed_path(path_of(folder, "gmm", "rkg")).read_bytes() == before
    # no date (bytes 4 to 7), no name (flags in byte 3), no operating system (byte 9: unknown)
    assert before[3:8] == bytes(5)
    assert before[9] == 255


def test_a_campaign_goes_on_in_a_packed_folder(tmp_path):
    choices = {"problems": ("sin-linear",), "methods": ("sobol",), "evaluations": 3}
    list(campaign(tmp_path, make_plan("quick", runs=2, **choices), processes(1, one_run.run)))
    pack(tmp_path)
    assert (
        list(campaign(tmp_path, make_plan("quick", runs=2, **choices), processes(1, one_run.run)))
        == []
    )
    path = path_of(tmp_path, "sin-linear", "sobol")
    assert not path.exists()
    more = make_plan("quick", runs=3, **choices)
    assert [r.job.seed for r in campaign(tmp_path, more, processes(1, one_run.run))] == [2]
    assert len(path.read_bytes().splitlines()) == 1
    assert len(progress(tmp_path, more).complete) == 3
    pack(tmp_path)
    assert len(progress(tmp_path, more).complete) == 3


class PowerCut(Exception):
    pass


def cut(*arguments, **options):
    raise PowerCut


@pytest.mark.parametrize("step", ["fsync", "replace", "unlink"])
def test_nothing_is_lost_or_doubled_when_packing_is_cut_short(tmp_path, monkeypatch, step):
    filled(tmp_path, range(2), ["rkg"])
    pack(tmp_path)
    (path,) = filled(tmp_path, [2], ["rkg"])
    before = told(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(*((type(path), step) if step == "unlink" else (os, step)), cut)
        with pytest.raises(PowerCut):
            pack(tmp_path)
    assert path.exists()
    assert told(tmp_path) == before
    pack(tmp_path)
    assert told(tmp_path) == before
    assert [line["seed"] for line in read_lines(path)] == [0, 1, 2]
    assert not path.exists()
    assert [each.name for each in path.parent.iterdir()] == ["rkg.jsonl.gz"]


def test_a_leftover_is_no_record(tmp_path):
    (path,) = filled(tmp_path, methods=["rkg"])
    before = told(tmp_path)
    packed_path(path).with_name(".rkg.jsonl.gz.123").write_bytes(squeezed(b"{}\n")[:9])
    assert told(tmp_path) == before
    pack(tmp_path)
    assert told(tmp_path) == before


def test_the_packed_file_is_on_the_disk_before_the_plain_one_goes(tmp_path, monkeypatch):
    (path,) = filled(tmp_path, methods=["rkg"])
    steps = []

    def watched(name, do):
        def step(*arguments):
            steps.append(name)
            return do(*arguments)

        return step

    monkeypatch.setattr(os, "fsync", watched("sync", os.fsync))
    monkeypatch.setattr(os, "replace", watched("replace", os.replace))
    monkeypatch.setattr(packing, "_sync", watched("sync folder", lambda folder: None))
    monkeypatch.setattr(type(path), "unlink", watched("unlink", type(path).unlink))
    pack(tmp_path)
    assert steps == ["sync", "replace", "sync folder", "unlink"]


def test_a_torn_line_is_not_packed_and_damage_is_refused(tmp_path):
    (path,) = filled(tmp_path, range(2), ["rkg"])
    path.write_bytes(path.read_bytes()[:-20])
    pack(tmp_path)
    assert [line["seed"] for line in read_lines(path)] == [0]
    path.write_bytes(b"{ oops\n{}\n")
    with pytest.raises(ValueError, match=r"line 1 of .*rkg.jsonl is no record"):
        pack(tmp_path)
    assert path.exists()


@pytest.mark.parametrize("damage", [lambda b: b[:-9], lambda b: b"", lambda b: b"PK" + b[2:]])
def test_a_damaged_packed_file_says_so(tmp_path, damage):
    (path,) = filled(tmp_path, methods=["rkg"])
    pack(tmp_path)
    packed_path(path).write_bytes(damage(packed_path(path).read_bytes()))
    with pytest.raises(ValueError, match=r"rkg.jsonl.gz is damaged .* runs will be repeated"):
        read_runs(tmp_path, "gmm", "rkg", RunRecord.from_json)


def test_timings_are_packed_too(tmp_path):
    plan = make_plan("timing", methods=("ei",), runs=2, evaluations=5)
    taken = [
        Timing("within-model", seed, "known", 5, {"ei": {"suggest": 0.1}}, {}) for seed in (0, 1)
    ]
    append_line(tmp_path / "timing.jsonl", taken[0]._asdict())
    pack(tmp_path)
    append_line(tmp_path / "timing.jsonl", taken[1]._asdict())
    assert timings(tmp_path, plan) == taken
    assert [found.path.name for found in pack(tmp_path)] == ["timing.jsonl.gz"]
    assert timings(tmp_path, plan) == taken


def test_nobody_packs_what_another_writes(tmp_path):
    filled(tmp_path)
    with Writing(tmp_path), pytest.raises(RuntimeError, match="another process writes"):
        pack(tmp_path)
