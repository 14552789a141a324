# Why: tuples vanish: every number of an argument is a parameter, every number of the result has a seed.
ARGS = ((2.0, 3.0), 0.5)


def f(p, k):
    x, y = p
    return x * y * k, (x + y) * k


# ---- emitted
def f_fwd(p_0, p_1, k):
    x, y = p_0, p_1
    return (x * y * k, (x + y) * k), (k, x, y)


def f_rev(saved, d_y0, d_y1):
    k, x, y = saved
    d_x = d_y0 * y * k
    d_y = d_y0 * x * k
    d_k = d_y0 * x * y
    d_t = d_y1 * k
    d_x += d_t
    d_y += d_t
    d_k += d_y1 * (x + y)
    # x, y = p
    d_p_1 = d_y
    d_p_0 = d_x
    return d_p_0, d_p_1, d_k
