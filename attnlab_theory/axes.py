"""The axis glossary: one letter per axis in the whole project, and the aliases that use them.

===== ======================= ===== =======================
``t``  query position          ``s``  source position
``d``  key and query width     ``v``  value width
``h``  head                    ``m``  random feature
``n``  replicate               ``b``  batch
``l``  layer                   ``c``  vocabulary
===== ======================= ===== =======================

einsum strings use these letters and no others. Operators in `attention` have no batch axis: callers `vmap`.
"""

from jaxtyping import Array, Bool, Float, PRNGKeyArray

Scalar = float | Float[Array, ""]
"""A real number that may be concrete or traced: what a setting's field is inside a jitted draw."""

Queries = Float[Array, "t d"]
Keys = Float[Array, "s d"]
Values = Float[Array, "s v"]
Mask = Bool[Array, "t s"]
"""True where a query may look."""

__all__ = ["Keys", "Mask", "PRNGKeyArray", "Queries", "Scalar", "Values"]
