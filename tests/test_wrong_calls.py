"""A call that Python refuses is refused with its TypeError, whatever path the function takes."""
import pytest

import transad


def f(x, y, *, k=1.0):
    return x * y * k


VERBS = ["grad", "value_and_grad", "jacobian", "jacfwd", "jacrev", "hessian"]


@pytest.mark.parametrize("options", [{}, {"path": "recorded"}, {"jit": True}, {"path": "typed"}], ids=str)
@pytest.mark.parametrize("args, words", [((1.0,), {}), ((1.0, 2.0, 3.0), {}), ((1.0, 2.0), {"z": 1.0}), ((1.0, 2.0), {"x": 1.0})],
                         ids=["missing", "too many", "unknown", "twice"])
def test_type_errors(options, args, words):
    d = transad.differentiable(f, **options)
    calls = [lambda v=v: getattr(transad, v)(d)(*args, **words) for v in VERBS]
    calls += [lambda: transad.pullback(d, *args, **words), lambda: d(*args, **words)]
    if not words:
        calls += [lambda: transad.jvp(d, args, tuple(1.0 for _ in args)), lambda: transad.linearize(d, *args)]
    for call in calls:
        with pytest.raises(TypeError, match="argument"):
            call()
