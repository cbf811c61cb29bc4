"""The axis glossary: one letter per axis in the whole project, and what a number is.

===== ======================= ===== =======================
``t``  query position          ``s``  source position
``d``  key and query width     ``v``  value width
``h``  head                    ``m``  random feature
``n``  replicate               ``b``  batch
``l``  layer                   ``c``  vocabulary
===== ======================= ===== =======================

einsum strings use these letters and no others. Operators in `attention` have no batch axis: callers `vmap`.
"""

from jaxtyping import Array, Float, PRNGKeyArray

Scalar = float | Float[Array, ""]
"""A real number that may be concrete or traced: what a setting's field is inside a jitted draw."""

__all__ = ["PRNGKeyArray", "Scalar"]
