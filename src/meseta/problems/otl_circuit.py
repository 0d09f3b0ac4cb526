"""The output transformerless push-pull circuit: its midpoint voltage is to be 5.5 V.

Of Rb1 and Rb2 only the ratio counts, so that the best designs are a line.
"""

import numpy as np
from jaxtyping import Float64

from meseta.noise import Uniform
from meseta.problems.problem import Problem
from meseta.problems.quadrature import average, product, uniform

TARGET = 5.5
TOLERANCE = 0.05  # of every resistor, as a share
GAIN = (175.0, 125.0)  # middle and half width of its range
RC2 = 0.725
NAMES = ("Rb1", "Rb2", "Rf", "Rc1")


def otl_circuit() -> Problem:
    return Problem(
        name="otl-circuit",
        title="OTL circuit",
        names=NAMES,
        f=f,
        g=g,
        bounds=np.array([[50.0, 25.0, 0.5, 1.2], [150.0, 70.0, 3.0, 2.5]]),
        noise={name: Uniform(TOLERANCE, relative=True) for name in NAMES},
        direction="minimize",
        x_star=np.array(
            [130.1795063996188, 60.38929648669826, 2.319167313909637, 1.81766246571616]
        ),
        g_star=0.01275062118201065,
        g_worst=16.78896703129296,
        budget=60,
        num_initial=14,
        source="Ben-Ari and Steinberg 2007; Surjanovic and Bingham, Virtual Library",
        differs="f is the squared distance from 5.5 V; resistors have tolerances of 5 %, the "
        "current gain is an environment, Rc2 is fixed",
        environment={"gain": Uniform(GAIN[1], mean=GAIN[0])},
        certificate="Gauss-Legendre 4^4 x 12 nodes, doubled: 1e-10; "
        "11 local searches from 512 designs",
    )


def voltage(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    """Of the midpoint; resistances in kOhm, the current gain last."""
    Rb1, Rb2, Rf, Rc1, gain = x.T
    Vb1 = 12 * Rb2 / (Rb1 + Rb2)
    load = gain * (RC2 + 9)
    return ((Vb1 + 0.74) * load + 11.35 * Rf + 0.74 * Rf * load / Rc1) / (load + Rf)


def f(x: Float64[np.ndarray, "m 5"]) -> Float64[np.ndarray, " m"]:
    """(voltage - 5.5)^2."""
    return (voltage(x) - TARGET) ** 2


def g(x: Float64[np.ndarray, "m 4"], num: int = 4, of_gain: int = 12) -> Float64[np.ndarray, " m"]:
    """All tolerances and the gain by Gauss-Legendre rules."""
    nodes, weights = product([*[uniform(num)] * 4, uniform(of_gain)])
    gain = GAIN[0] + GAIN[1] * nodes[:, 4]

    def place(x: Float64[np.ndarray, "m 4"]) -> Float64[np.ndarray, "m k 5"]:
        resistors = x[:, None] * (1 + TOLERANCE * nodes[:, :4])
        return np.concatenate([resistors, np.tile(gain[:, None], (len(x), 1, 1))], axis=-1)

    return average(f, place, x, weights)
