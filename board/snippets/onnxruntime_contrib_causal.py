import numpy as np
import onnxruntime
from onnx import TensorProto, helper

sizes = {"Q": [1, 3, 5], "K": [1, 5, 5], "V": [1, 5, 5]}
given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes.items()]
out = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 3, 5])
node = helper.make_node(
    "MultiHeadAttention", [*sizes], ["Y"], domain="com.microsoft", num_heads=1, unidirectional=1
)
graph = helper.make_graph([node], "g", given, [out])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("com.microsoft", 1)], ir_version=10)
session = onnxruntime.InferenceSession(model.SerializeToString())
arrays = {"Q": np.zeros(sizes["Q"], "float32"), "K": np.zeros(sizes["K"], "float32")}
(seen,) = session.run(None, arrays | {"V": np.eye(5, dtype="float32")[None]})
counts = (seen[0] > 0).sum(1).tolist()  # from the start 1, 2, 3; from the end 3, 4, 5
assert counts in ([1, 2, 3], [3, 4, 5]), f"3 queries see {counts} of 5 keys"
