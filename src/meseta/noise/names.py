"""The public names of `meseta.noise`, which loads them when one of them is first used."""

from meseta.noise.discrete import Discrete as Discrete
from meseta.noise.empirical import Empirical as Empirical
from meseta.noise.environment import Environment as Environment
from meseta.noise.independent import Independent as Independent
from meseta.noise.joint import Joint as Joint
from meseta.noise.laplace import Laplace as Laplace
from meseta.noise.law import NoiseLaw as NoiseLaw
from meseta.noise.law import OneDimensional as OneDimensional
from meseta.noise.log_normal import LogNormal as LogNormal
from meseta.noise.mixture import Mixture as Mixture
from meseta.noise.normal import Normal as Normal
from meseta.noise.placed import Edge as Edge
from meseta.noise.placed import Placed as Placed
from meseta.noise.placing import resolved as resolved
from meseta.noise.scipy_law import ScipyLaw as ScipyLaw
from meseta.noise.scipy_law import from_scipy as from_scipy
from meseta.noise.shared import Shared as Shared
from meseta.noise.student import StudentT as StudentT
from meseta.noise.substitution import Substituted as Substituted
from meseta.noise.substitution import Substitution as Substitution
from meseta.noise.triangular import Triangular as Triangular
from meseta.noise.truncated_normal import TruncatedNormal as TruncatedNormal
from meseta.noise.uniform import Uniform as Uniform
from meseta.noise.units import in_units as in_units
