"""The numerical tests once for each kind of processor whose code the libraries can run here.

    python tests/processors.py [--short]

OpenBLAS (in numpy and scipy), ATen and MKL (in torch) choose their code by the processor, and round
differently with each. Environment variables make them choose as on other processors. Settings that
this processor cannot execute are not run, and the last lines say so. They also show a digest of
what each setting computes, by OpenBLAS and by torch: where digests are equal, the setting may have
had no effect here. It is run all the same, since a few operations do not show everything; the short
form leaves it out, and says so.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent
SETTINGS = [
    {"OPENBLAS_CORETYPE": blas, "ATEN_CPU_CAPABILITY": aten, "MKL_ENABLE_INSTRUCTIONS": mkl}
    for blas, aten, mkl in (
        ("SkylakeX", "avx2", "AVX2"),
        ("Haswell", "avx2", "SSE4_2"),
        ("Zen", "default", "AVX2"),
        ("Prescott", "default", "SSE4_2"),
    )
]
SHORT = [
    *("gp/test_fit.py", "inference/test_ep.py", "inference/test_truncated.py"),
    *("noise/test_joint_laws.py", "optimizer/test_suggest.py"),
]
NUMERICAL = [
    *("space", "noise", "kernels", "gp", "inference", "acquisition"),
    *("optimizer/test_suggest.py", "optimizer/test_hostile.py", "optimizer/test_optimizer.py"),
    "whole/test_nes_plain.py",
]
# Products, factors, sums and exponentials by each library, and a digest of all their bits.
PROBE = """
import hashlib, numpy, scipy.linalg, torch
A = numpy.random.default_rng(0).normal(size=(300, 300))
K = A @ A.T + numpy.eye(300)
L = scipy.linalg.cholesky(K, lower=True)
parts = [K, L, numpy.linalg.cholesky(K), scipy.linalg.solve_triangular(L, A, lower=True)]
print(hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:8], end=" ")
A = torch.tensor(A)
K = A @ A.T + torch.eye(300).double()
L = torch.linalg.cholesky(K)
parts = [K, L, torch.linalg.solve_triangular(L, A, upper=False), torch.linalg.eigh(K)[0]]
parts += [A.exp(), A.sin(), torch.special.erfcx(A), A.sum(-1)]
print(hashlib.sha256(b"".join(part.numpy().tobytes() for part in parts)).hexdigest()[:8])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a few quick files only")
    short = parser.parse_args().short
    files = [str(TESTS / name) for name in (SHORT if short else NUMERICAL)]
    report, failed, ran, seen = [], False, 0, set()
    for setting in SETTINGS:
        words = " ".join(f"{name}={value}" for name, value in setting.items())
        environment = {**os.environ, **setting}
        probe = subprocess.run(
            [sys.executable, "-c", PROBE], env=environment, capture_output=True, text=True
        )
        digest = probe.stdout.strip()
        if probe.returncode == -signal.SIGILL:
            report.append(f"not run  {words}: this processor lacks the instructions")
        elif probe.returncode:
            failed = True
            report.append(f"FAILED   {words}: {probe.stderr.strip()}")
        elif short and digest in seen:
            report.append(f"not run  {words}: rounds like one above (digests {digest})")
        else:
            ran += 1
            seen.add(digest)
            print(f"\n{words}", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal"]
            tests = subprocess.run([*command, *files], env=environment)
            failed |= tests.returncode != 0
            outcome = "FAILED " if tests.returncode else "ran    "
            report.append(f"{outcome}  {words} (digests {digest})")
    print("\n" + "\n".join(report))
    if failed or not ran:
        sys.exit("not every setting passed" if ran else "no setting could be run")


if __name__ == "__main__":
    main()
