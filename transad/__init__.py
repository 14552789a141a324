"""transad: derivatives of plain Python, NumPy and Numba code by source transformation.

>>> import transad
>>> transad.grad(lambda x: x ** 3)(2.0)
12.0
"""
from .api import (
    grad,
    jvp,
    linearize,
    pullback,
    value_and_grad,
    vjp,
)
from .errors import (
    CannotCompile,
    InvalidArgument,
    MissingRule,
    NoSource,
    NotScalar,
    TransadError,
    TransadPerformanceWarning,
    TransadWarning,
    Unsupported,
)
from .forwards.matrices import hessian, hvp, jacfwd, jacobian, jacrev, value_and_jacobian, value_grad_and_hessian
from .function import Differentiable, differentiable
from .implicit import implicit
from .maps.map import map
from .rules.registry import adjoint, nondiff, partials
from .samples.curvature import fisher, ggn_vp
from .samples.per_sample import per_sample_grad, per_sample_value_and_grad
from .samples.vmap import vmap
from .testing import check_grads
from .verbs import checkpoint, custom_rule, fwddiff, stop_gradient

__version__ = "0.1.0"

__all__ = [
    "CannotCompile", "Differentiable", "InvalidArgument", "MissingRule", "NoSource", "NotScalar", "TransadError",
    "TransadPerformanceWarning", "TransadWarning", "Unsupported", "adjoint", "check_grads", "checkpoint",
    "custom_rule", "differentiable", "fisher", "fwddiff", "ggn_vp", "grad", "hessian", "hvp",
    "implicit", "jacfwd", "jacobian", "jacrev", "jvp", "linearize", "map", "nondiff", "partials",
    "per_sample_grad", "per_sample_value_and_grad", "pullback", "stop_gradient",
    "value_and_grad", "value_and_jacobian", "value_grad_and_hessian", "vjp", "vmap",
]
