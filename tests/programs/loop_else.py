"""else of for and while."""
from tests.programs import program


@program(2.0, 10.0, value=60.0, gradient=[30.0, 6.0])
@program(2.0, 3.0, value=4.0, gradient=[2.0, 0.0])
def else_unless_broken(x, limit):
    s = 0.0
    for i in range(3):
        s += i * x
        if s > limit:
            s = 2.0 * x
            break
        if s > 5.0:
            s = s * 1.0
        if limit < 5.0 and i == 1:
            s = 2.0 * x
            break
    else:
        s *= limit
    return s


@program(3.0, 0.5, value=3.0 * 0.25 + 0.5, gradient=[0.25, 4.0], jit=True)
def else_of_while(x, k):
    while x > 1.0:
        x *= k
    else:
        x += k
    return x


@program(3.0, value=12.0, gradient=[4.0])
def else_of_a_loop_without_trips(x):
    for _ in range(0):
        x = 0.0
    else:
        x *= 4.0
    return x
