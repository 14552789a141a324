"""NumPy functions in the language that the typed path takes: what `jit=True` inlines instead of a call.

Each function has the parameters of NumPy's. They are never run by Python: the specialiser inlines them like a user's
function, so that ranks, axes, `None` and dtypes are known while it does, and `if` on them costs nothing. A function
that calls another of the library goes through the module's own name; `np.` names mean what they mean to the user.
"""
from __future__ import annotations

import types

from transad.passes.specialise.library import arranging, joining, linear, making, missing, order, reductions, scans, statistics

# The functions whose first argument is a sequence of arrays or numbers and stays one.
SEQUENCES = {"np.concatenate", "np.hstack", "np.vstack", "np.stack", "np.column_stack", "np.dstack", "np.select"}

_FAMILIES = {
    reductions: "sum mean prod max min any all std var ptp median argmax argmin count_nonzero average",
    scans: "cumsum cumprod diff ediff1d trapezoid interp convolve correlate nan_to_num",
    joining: "concatenate hstack vstack stack column_stack dstack append repeat tile split array_split delete meshgrid",
    arranging: "flip flipud fliplr roll rot90 squeeze expand_dims atleast_1d atleast_2d swapaxes "
               "moveaxis transpose take take_along_axis diag tril triu diagflat",
    making: "eye identity full full_like zeros_like ones_like empty_like linspace arange vander tri logspace geomspace",
    order: "sort argsort searchsorted clip round around digitize partition",
    missing: "nansum nanprod nanmean nanvar nanstd nanmax nanmin nanmedian",
    statistics: "quantile percentile cov corrcoef bincount polyval sinc fmax fmin isclose allclose flatnonzero nonzero select "
                "unwrap where",
    linear: "outer kron cross vdot inner trace dot matmul logical_and logical_or logical_xor",
}


def _found() -> dict[str, types.FunctionType]:
    known = {f"np.{n}": getattr(family, n) for family, names in _FAMILIES.items() for n in names.split()}
    known |= {"np.amax": reductions.max, "np.amin": reductions.min, "np.linalg.norm": linear.norm,
              "np.linalg.det": linear.det, "np.linalg.slogdet": linear.slogdet, "np.linalg.inv": linear.inv,
              "np.linalg.solve": linear.solve, "np.linalg.eigvalsh": linear.eigvalsh, "np.linalg.cholesky": linear.cholesky,
              "np.linalg.matrix_power": linear.matrix_power}
    return known


LIBRARY = _found()
OWN = {"picked": arranging.picked}          # what stands for an index

__all__ = ["LIBRARY", "OWN", "SEQUENCES"]
