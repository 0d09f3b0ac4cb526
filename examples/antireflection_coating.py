"""Optics: three layers against the reflection of a laser line, as they come out of the chamber.

A beam of 532 nm passes ten lenses of BK7, twenty surfaces, all coated in one run: Al2O3, TiO2 and
MgF2, the last one outermost. Three thicknesses are one more than it takes to cancel the reflection,
so there is a whole curve of stacks that are perfect on paper, and which of them an ordinary search
names is chance. They are not equally easy to coat.

The quartz crystal that ends a layer warms up when the shutter opens and reads every layer of a run
too thick or too thin by the same 4 nm (one standard deviation); besides, each layer has an error of
its own of 1 nm. The robust stack is one that a common error hardly detunes.

Model: characteristic matrices at normal incidence, Macleod, Thin-Film Optical Filters, the chapter
on basic theory; Born and Wolf, Principles of Optics, Sec. 1.6. Indices: BK7 by Schott's Sellmeier
formula; films as tabulated by Macleod (TiO2 from 2.2 to 2.7, by how it is made).

    python examples/antireflection_coating.py [--budget 45]
"""

import argparse

import numpy as np

import meseta

LINE = 532.0  # nm
FILMS = {"MgF2": 1.38, "TiO2": 2.4, "Al2O3": 1.62}  # from the air inwards
SURFACES = 20
COMMON, OWN = 4.0, 1.0  # nm
COATED = 4000


def index_bk7(wavelength):
    """Schott's Sellmeier formula; the wavelength in nm."""
    square = (wavelength / 1000) ** 2
    terms = (
        (1.03961212, 0.00600069867),
        (0.231792344, 0.0200179144),
        (1.01046945, 103.560653),
    )
    return np.sqrt(1 + sum(b * square / (square - c) for b, c in terms))


def reflectance(thickness, indices, wavelength=LINE):
    """Of one surface of BK7 in air; layers from the air inwards, thickness of shape (..., layers).

    (B, C) = product over the layers of [[cos d, i sin d / n], [i n sin d, cos d]] (1, n_glass),
    d = 2 pi n thickness / wavelength, and R = |(B - C) / (B + C)|^2.
    """
    thickness = np.asarray(thickness, dtype=float)
    b, c = 1.0, index_bk7(wavelength)
    for n, t in reversed(list(zip(indices, np.moveaxis(thickness, -1, 0), strict=True))):
        phase = 2 * np.pi * n * t / wavelength
        cos, sin = np.cos(phase), 1j * np.sin(phase)
        b, c = cos * b + sin / n * c, sin * n * b + cos * c
    return np.abs((b - c) / (b + c)) ** 2


def loss(thickness):
    """Per cent of the light that is lost on the way through all surfaces."""
    return 100 * (1 - (1 - reflectance(thickness, FILMS.values())) ** SURFACES)


def deployed(stack, seed=5):
    """Losses of many coating runs that were meant to give this stack."""
    random = np.random.default_rng(seed)
    error = COMMON * random.normal(size=(COATED, 1)) + OWN * random.normal(size=(COATED, 3))
    return loss(np.array([stack[film] for film in FILMS]) + error)


def main(budget=45):
    result = meseta.minimize(
        lambda stack: loss([stack[film] for film in FILMS]),
        {"MgF2": (50.0, 150.0), "TiO2": (5.0, 70.0), "Al2O3": (20.0, 180.0)},
        noise={
            **{film: meseta.Normal(OWN) for film in FILMS},
            tuple(FILMS): meseta.Shared(meseta.Normal(COMMON)),
        },
        budget=budget,
        seed=0,
    )
    print(result)
    print(f"\nlight lost, %                 as drawn   {COATED} coated   worst of 20")
    for name, stack in (("robust", result.params), ("nominal", result.nominal.params)):
        coated = deployed(stack)
        drawn, error = loss([stack[film] for film in FILMS]), 1.96 * coated.std() / COATED**0.5
        print(
            f"{name:29} {drawn:.2f}       {coated.mean():.2f} ± {error:.2f}   "
            f"{np.quantile(coated, 0.95):.1f}"
        )
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="An antireflection coating that can be made.")
    parser.add_argument("--budget", type=int, default=45, help="stacks that are computed")
    main(parser.parse_args().budget)
