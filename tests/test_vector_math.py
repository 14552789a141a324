"""Functions that run on several numbers at a time give NumPy's values, at every length and at what is not finite."""
import numpy as np
import pytest

from transad.runtime.vector_math import available, vector_function

pytest.importorskip("numba")
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e300, -1e300, 1e-310, 710.0, -746.0, 0.5, -0.5, 2.0, 1e5])


@pytest.mark.skipif(not available(), reason="no libmvec here")
def test_values():
    import numba

    from transad.compiled import flags
    functions = {f: vector_function(f) for f in sorted(available() & {"exp", "log", "sin", "tanh", "log1p", "arctan"})}
    assert "tanh" in functions or "exp" in functions
    x = np.concatenate([SPECIAL, np.random.default_rng(0).standard_normal(1003) * 3])
    for name, f in functions.items():
        @numba.njit(**flags(False))
        def loop(x, out):
            for i in range(x.shape[0]):
                out[i] = f(x[i])          # noqa: B023
        out = np.empty_like(x)
        loop(x, out)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(out, getattr(np, name)(x), rtol=2e-15, atol=0, err_msg=name)


def test_off_switch(monkeypatch):
    monkeypatch.setenv("TRANSAD_VECTOR_MATH", "0")
    assert available.__wrapped__() == frozenset()
