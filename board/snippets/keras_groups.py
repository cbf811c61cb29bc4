import numpy as np
from keras import ops  # KERAS_BACKEND is numpy

# "Otherwise, grouped query attention (GQA) is performed if `N` is a multiple of `K`."
q, k = np.ones((1, 3, 4, 2), "float32"), np.ones((1, 3, 2, 2), "float32")
ops.dot_product_attention(q, k, k)
