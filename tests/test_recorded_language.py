"""Python's language on the recorded path: each program's value and gradient against differences."""
import abc
import collections
import contextlib
import copy
import enum
import functools
import itertools
import math
import operator
import random
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import InitVar, dataclass, field, replace

import numpy as np
import pytest

from tests.differences import agree

X = np.array([0.7, -0.4, 0.9, 0.3])
Y = np.array([0.2, 0.8, -0.6, 0.5])
M = np.arange(12.0).reshape(3, 4) * 0.1 - 0.4
CASES = []


def case(*args):
    def register(f):
        CASES.append(pytest.param(f, args, id=f.__name__))
        return f
    return register


class Vec:
    scale = 2.0

    def __init__(self, x, y):
        self._x, self.y = x, y
        self.__secret = x * y

    @property
    def x(self):
        return self._x * np.sum(np.array([self.y, 1.0]))

    @x.setter
    def x(self, value):
        self._x = value * value

    @functools.cached_property
    def norm(self):
        return math.sqrt(self._x ** 2 + self.y ** 2)

    @classmethod
    def make(cls, a):
        return cls(a, a * cls.scale)

    @staticmethod
    def twice(a):
        return a + a

    def secret(self):
        return self.__secret + self.__class__.scale

    def __add__(self, other):
        return Vec(self._x + other._x, self.y + other.y)

    def __rmul__(self, k):
        return Vec(k * self._x, k * self.y)

    def __getitem__(self, k):
        return (self._x, self.y)[k] ** 2

    def __setitem__(self, k, v):
        if k == 0:
            self._x = np.sum(np.array([v, v]))
        else:
            self.y = v

    def __neg__(self):
        return Vec(-self._x, -self.y)

    def __len__(self):
        return 2

    def __call__(self, t):
        return np.dot(np.array([self._x, self.y]), np.array([t, t * t]))

    def __abs__(self):
        return math.hypot(self._x, self.y)

    def __float__(self):
        return float(self._x * 3.0)

    def __contains__(self, v):
        return v == self.y

    def __iter__(self):
        yield self._x
        yield np.sum(np.array([self.y, self.y]))

    def __enter__(self):
        return self._x * 2.0, self.y

    def __exit__(self, *_):
        self.y = self.y * 5.0

    def __iadd__(self, k):
        self._x = self._x + np.sum(np.ones(2) * k)
        return self

    def __getattr__(self, name):
        if name == "ghost":
            return np.sum(np.array([self._x, self.y])) ** 2
        raise AttributeError(name)


class Child(Vec):
    def __init__(self, x, y, z):
        super().__init__(x * z, y)
        self.z = z

    def __call__(self, t):
        return super().__call__(t) * self.z


@case(0.7, 1.3)
def properties_and_private_names(a, b):
    v = Vec(a, b)
    s = v.x + v.secret()
    v.x = b
    return s + v.x * v.norm + v.norm


@case(0.7, 1.3)
def operators_of_a_class(a, b):
    v = 2.5 * (Vec(a, b) + Vec(b, a * a))
    v[0] = v[1]
    v += a
    return v[0] + (-v)[1] + abs(v) + float(v) + len(v) + v(0.3) + v.ghost


@case(0.7, 1.3)
def iteration_and_context_of_a_class(a, b):
    v = Vec(a, b)
    with v as (p, q):
        s = p * q
    first, second = v
    return s + first * second + sum(t * t for t in v) + (1.0 if b * 5.0 in v else 0.0)


@case(0.7, 1.3)
def inheritance_and_class_methods(a, b):
    c = Child(a, b, a + b)
    return c(0.5) + Vec.make(a)(b) + Vec.twice(a) + Child.make.__func__(Vec, b).y + isinstance(c, Vec)


@case(0.7, 1.3)
def attributes_by_name(a, b):
    v = Vec(a, b)
    setattr(v, "extra", a * b)
    v.__dict__["more"] = b * b
    return getattr(v, "extra") + getattr(v, "none", a) + v.more + (1.0 if hasattr(v, "more") else 0.0)


class Abstract(abc.ABC):
    @abc.abstractmethod
    def energy(self, x): ...


class Spring(Abstract):
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return 0.5 * self.k * x ** 2


@case(0.7, 1.3)
def abstract_base_with_slots(a, b):
    return Spring(a).energy(b)


@dataclass
class Body:
    m: float
    v: float = 1.0
    tags: list = field(default_factory=list)
    p: float = field(init=False)
    scale: InitVar[float] = 2.0

    def __post_init__(self, scale):
        self.p = float(np.sum(np.array([self.m, self.v]))) * scale

    def kinetic(self):
        return 0.5 * self.m * self.v ** 2


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float


@case(0.7, 1.3)
def dataclasses_with_post_init(a, b):
    one, two = Body(a), Body(m=a * b, v=b, scale=a)
    p = replace(Point(a, b), x=b * b)
    one.tags.append(p.x)
    return one.p + two.p + two.kinetic() + p.x * p.y + one.tags[0] + (1.0 if p == Point(b * b, b) else 0.0)


class Kind(enum.Enum):
    LINEAR = 1
    SQUARE = 2


@case(0.7, 2)
def enum_switch(a, n):
    kind = Kind(int(n))
    if kind is Kind.SQUARE:
        return a * a
    return a


class Node(namedtuple("Node", "left right weight", defaults=(None, None, 1.0))):
    __slots__ = ()

    def total(self):
        s = self.weight
        for child in (self.left, self.right):
            if child is not None:
                s = s + child.total() * self.weight
        return s


@case(0.7, 1.3)
def named_tuples_with_methods(a, b):
    tree = Node(Node(weight=a), Node(weight=b, left=Node(weight=a * b)), a)
    return tree.total() + tree._replace(weight=b).weight * tree._asdict()["weight"] + tree[2]


@case(X, 0.6)
def nested_and_starred_targets(x, s):
    (a, b), *rest, last = (x[0], x[1]), *x[1:], s
    total = a * b + last * sum(rest)
    for i, (p, (q, r)) in enumerate(zip(x, zip(x[1:], x[2:]))):
        total += i * p * q * r
    pairs = [p * q + r for p, (q, r) in zip(x, [(s, s * s)] * 4)]
    i, arr = 0, [0.0, 0.0]
    i, arr[i] = 1, s
    arr[i], i = s * s, 0
    return total + sum(pairs) + arr[0] * arr[1]


@case(X, 0.6)
def walrus_in_comprehension(x, s):
    y = [v * v for v in x if (w := v * s) > 0]
    return sum(y) * w


@case(X, 0.6)
def dictionaries(x, s):
    d = {"a": x[0], **{"b": x[1] * s}}
    d.update(c=d["a"] * d["b"])
    d.setdefault("e", s)
    e = defaultdict(list)
    for k, v in d.items():
        e[k].append(v * v)
    o = OrderedDict(sorted(d.items(), key=lambda kv: -kv[1]))
    first = next(iter(o.values()))
    return sum(sum(v) for v in e.values()) + d.pop("a") * len(d) + first * d.get("zz", s)


@case(X, 0.6)
def lists_sets_deques(x, s):
    xs = list(x)
    xs.extend(x[:2])
    xs += list(x[2:])
    xs[1:2] = x[:2]
    xs.sort(key=lambda v: v * v)
    xs.reverse()
    q = deque(x, maxlen=3)
    q.appendleft(s)
    q.rotate(1)
    tail = q.pop()
    del xs[0]
    return sum(v * (i + 1) for i, v in enumerate(xs)) + tail * q[0] + max(x, key=lambda v: -v) * min(xs)


@case(X, 0.6)
def strings_and_printing(x, s):
    print("x", x[0], f"{s:.2f} {s!r}", "%.3f" % s, "{:.1f}".format(s), end="")
    text = ",".join(str(round(float(v), 2)) for v in x)
    return s * len(text) + x[0]


@case(X, 0.6)
def stars_in_calls(x, s):
    def f(a, b, *rest, k=1.0, **more):
        return a * b + sum(rest) * k + more.get("m", 0.0)
    return f(*x) + f(s, *x[:2], **{"k": s, "m": x[3]}) + f(*[s, s], k=2.0)


@case(X, 0.6)
def higher_order_functions(x, s):
    compose = lambda *fs: functools.reduce(lambda f, g: lambda v: f(g(v)), fs)  # noqa: E731
    f = compose(math.sin, lambda v: v * s, math.exp)
    g = functools.partial(pow, s)
    return sum(map(f, x)) + g(2.5) + sum(itertools.starmap(operator.mul, zip(x, x[1:]))) \
        + operator.itemgetter(1)(x) * operator.attrgetter("real")(s)


@case(X, 0.6)
def itertools_of_all_kinds(x, s):
    total = 0.0
    for a, b in itertools.product(x[:2], (s, s * s)):
        total += a * b
    for a, b in itertools.combinations(x, 2):
        total += a * b * s
    for a, b in itertools.pairwise(x):
        total += a ** 2 * b
    for k, group in itertools.groupby(x, key=lambda v: v > 0):
        total += sum(group) * (1 + k)
    for a in itertools.chain(x, [s], itertools.chain.from_iterable([x[:1], x[1:2]])):
        total += a ** 3
    for a in itertools.islice(itertools.cycle(x), 1, 7):
        total += a
    for a, b in itertools.zip_longest(x, [s], fillvalue=s):
        total += a * b
    for a in itertools.takewhile(lambda v: v > 0, x):
        total += a * 7
    return total + sum(itertools.accumulate(x)) + list(itertools.accumulate(x, operator.mul, initial=s))[-1]


@case(X, 0.6)
def generators_with_send(x, s):
    def running():
        total = 0.0
        while True:
            value = yield total
            if value is None:
                return total
            total = total * s + value
    g = running()
    next(g)
    out = [g.send(v) for v in x]

    def outer():
        yield from x
        r = yield from out
        yield s if r is None else r
    return sum(v * (k + 1) for k, v in enumerate(outer()))


@case(X, 0.6)
def closures_with_state(x, s):
    def counter():
        n, total = 0, 0.0

        def add(v):
            nonlocal n, total
            n += 1
            total += v * n * s
            return total
        add.history = []
        return add
    a, b = counter(), counter()
    for v in x:
        a.history.append(a(v))
        b(a.history[-1])
    return b(1.0) + sum(a.history)


@functools.lru_cache(maxsize=None)
def _cached(v):
    return v * v * 0.5


@case(X, 0.6)
def cached_functions(x, s):
    return sum(_cached(v) for v in x) + _cached(s) * _cached(2.0)


_COUNT = 0


@case(X, 0.6)
def global_counter(x, s):
    global _COUNT
    _COUNT += 1
    return x[0] * s + np.sum(x)


@case(0.7, 1.3)
def exceptions_carry_values(a, b):
    class Found(Exception):
        def __init__(self, value):
            super().__init__("found")
            self.value = value * value

    def search(v):
        for k in range(5):
            v = v * b
            if k == 2:
                raise Found(v)
    try:
        search(a)
    except Found as e:
        y = e.value
    finally:
        z = a
    try:
        [][1]
    except (KeyError, IndexError):
        z *= 2.0
    else:
        z = 0.0
    with contextlib.suppress(ZeroDivisionError):
        z = z + a / (b - b)
    return y + z


@case(0.7, 1.3)
def context_managers_by_generator(a, b):
    @contextlib.contextmanager
    def scaled(k):
        yield k * b
    with scaled(a) as s, contextlib.ExitStack() as stack:
        stack.callback(lambda: None)
        return s * s


@case(X, 0.6)
def copies_of_structures(x, s):
    d = {"w": x, "b": [s, x[1:]]}
    e = copy.deepcopy(d)
    e["w"][0] = s * s
    e["b"][1][0] *= 3.0
    f = copy.copy(d)
    f["w"] = x * 2
    return np.sum(d["w"] ** 2) + np.sum(e["w"] ** 3) + np.sum(e["b"][1]) + np.sum(f["w"]) + e["b"][0]


@case(X, 0.6)
def match_on_classes(x, s):
    def area(shape):
        match shape:
            case Point(x=a, y=b) if a > b:
                return a * b
            case Point(x=a):
                return a
            case {"r": float(r), **rest}:
                return r * r + len(rest)
            case [a, [b, *_]] | (a, b, _):
                return a * b
            case float() | int():
                return shape * 3.0
    return area(Point(s, x[1])) + area(Point(x[1], s)) + area({"r": s, "q": 1}) + area([s, [x[0], 1]]) \
        + area((s, x[2], 0)) + area(s)


@case(X, 0.6)
def random_state_inside(x, s):
    rng = np.random.default_rng(3)
    r = random.Random(5)
    noise = rng.normal(size=4)
    rng.shuffle(noise)
    return np.sum((x * noise) ** 2) * s + r.random() * s + x[rng.integers(0, 4)]


def _even(n, v):
    return v if n == 0 else _odd(n - 1, v * 1.1)


def _odd(n, v):
    return v * v if n == 0 else _even(n - 1, v + 0.1)


@case(0.7, 1.3)
def mutual_recursion_and_lambda_recursion(a, b):
    fact = lambda n: 1.0 if n == 0 else n * b * fact(n - 1)  # noqa: E731
    return _even(7, a) + fact(4)


@case(X, 0.6)
def loops_with_else_and_slices(x, s):
    total, n = 0.0, len(x)
    for i in range(n)[::-1]:
        for j in range(i, n):
            if x[j] < -0.3:
                continue
            if total > 5.0:
                break
            total += x[i] * x[j] * s
        else:
            total += s
    while n:
        n -= 1
        if n == 2:
            continue
        total = total * 0.9 + x[n] ** n
    return total if total else s


@case(X, 0.6)
def chained_and_boolean_values(x, s):
    y = x[0] and s or x[1]
    z = not s or x[2]
    w = (s if -1 < x[1] < 0 < s else x[0]) * 2
    a = b = c = s * x[3]
    a += 1.0
    return y + z + w + a * b * c + (x[0] if x is x else 0.0)


@case(X, 0.63)
def counters_and_conversions(x, s):
    n = int(s * 10)
    k = round(s, 1)
    b = bool(s)
    f = float(x[0]) + float("0.5") + complex(s, 1.0).real * complex(x[1]).real
    q, r = divmod(s * 7, 0.4)
    return f * n + k + b + r * s + q + abs(x[1]) + pow(s, 3) + np.float64(s) * np.float32(2.0) + x[1].item()


@case(X, 0.6)
def classes_made_inside(x, s):
    class Layer:
        def __init__(self, w):
            self.w = w

        def __matmul__(self, v):
            return np.tanh(self.w * v)

        def __eq__(self, other):
            return self.w == other.w

    @dataclass
    class Net:
        layers: list

        def run(self, v):
            for layer in self.layers:
                v = layer @ v
            return v
    net = Net([Layer(s), Layer(s * s)])
    return np.sum(net.run(x)) + (1.0 if net.layers[0] == Layer(s) else 0.0)


@case(X, 0.6)
def user_iterators(x, s):
    class Every:
        def __init__(self, a, k):
            self.a, self.k, self.i = a, k, 0

        def __iter__(self):
            return self

        def __next__(self):
            if self.i >= len(self.a):
                raise StopIteration
            self.i += self.k
            return self.a[self.i - self.k] * s
    it = Every(x, 2)
    first = next(it)
    return first * 3.0 + sum(it) + sum(v * v for v in Every(x, 1)) + next(it, s)


@case(X, 0.6)
def counter_and_chainmap(x, s):
    c = collections.ChainMap({"a": x[0]}, {"a": s, "b": x[1]})
    n = collections.Counter("abca")
    return c["a"] * c["b"] * n["a"] + types_of(s)


def types_of(v):
    return v * 2 if type(v) is float and isinstance(v, float) else v * 100


@pytest.fixture(autouse=True)
def recorded_path_only(monkeypatch):
    monkeypatch.setenv("TRANSAD_PATH", "recorded")


@pytest.mark.parametrize("f, args", CASES)
def test_language(f, args):
    agree(f, args)
