"""The call side of forward mode, and the matrices of derivatives."""
