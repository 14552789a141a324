"""One gradient for each sample, functions of a batch, `vmap`, and what is built on them."""
