"""Values that leave the numbers and come back are refused, not taken for constants."""
import ctypes
import io
import json
import pickle
import struct

import numpy as np
import pytest

from transad import TransadError, grad

X = np.array([1.25, -2.5, 0.75])
PROGRAMS = {
    "str": (lambda x: float(str(x)) * 2, 1.75),
    "repr": (lambda x: float(repr(x)) * 2, 1.75),
    "f-string": (lambda x: float(f"{x}") * 2, 1.75),
    "format": (lambda x: float("{:.6f}".format(x)) * 2, 1.75),
    "percent": (lambda x: float("%g" % x) * 2, 1.75),
    "part of a text": (lambda x: float(f"x={x};".split("=")[1].strip(";")), 1.75),
    "hex": (lambda x: float.fromhex(x.hex()), 1.75),
    "json": (lambda x: json.loads(json.dumps(x)) * 2, 1.75),
    "struct": (lambda x: struct.unpack("d", struct.pack("d", x))[0], 1.75),
    "ctypes": (lambda x: ctypes.c_double(x).value, 1.75),
    "pickle": (lambda x: pickle.loads(pickle.dumps(x)).sum(), X),
    "fromstring": (lambda x: np.fromstring(" ".join(map(str, x)), sep=" ").sum(), X),
    "loadtxt": (lambda x: float(np.loadtxt(io.StringIO(str(x)))), 1.75),
    "format_float": (lambda x: np.float64(np.format_float_positional(x)) * 2, 1.75),
    "array text": (lambda x: float(str(x).strip("[]").split()[0]), X),
    "array of text": (lambda x: x.astype(str).astype(float).sum(), X),
    "array of objects": (lambda x: x.astype(object).sum(), X),
    "memoryview": (lambda x: sum(memoryview(x)), X),
    "masked array": (lambda x: np.ma.array(x, mask=[0, 1, 0]).sum(), X),
    "matrix": (lambda x: (np.matrix(x) * np.matrix(x).T).sum(), X),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_a_dependence_through_something_else_than_numbers_is_refused(name):
    f, x = PROGRAMS[name]
    f(x)                                        # the plain function runs
    with pytest.raises(TransadError):
        grad(f)(x)


def test_printing_is_free_and_other_texts_are_read():
    def f(x):
        scale = float("2.5")
        message = f"x = {x}, in percent {100 * x:.3f}"
        assert message and float("inf") > x
        return scale * x * len(message)
    assert grad(f)(1.75) == 2.5 * len("x = 1.75, in percent 175.000")


def test_a_masked_copy_between_overlapping_parts_is_refused():
    """NumPy reads what it has already overwritten there."""
    def f(x):
        a = np.zeros(8)
        a[4] = x
        np.copyto(a[::2], a[1:5], where=a[::2] > -1.0)
        return np.sum(a)
    with pytest.raises(TransadError, match="overlapping parts"):
        grad(f)(1.5)

    def apart(x):
        a = np.array([x, 2.0 * x, 3.0, 4.0])
        np.copyto(a[2:], a[:2], where=np.array([True, False]))
        return a[2] * a[3]
    assert grad(apart)(1.5) == 4.0
