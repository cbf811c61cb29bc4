import numpy as np
import openvino
from onnx import TensorProto, helper

sizes = {"Q": [1, 1, 6, 4], "K": [1, 1, 6, 4], "V": [1, 1, 6, 6]}
given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, size) for name, size in sizes.items()]
out = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 1, 6, 6])
node = helper.make_node("Attention", [*sizes], ["Y"], left_window_size=1, right_window_size=0)
graph = helper.make_graph([node], "g", given, [out])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=10)
compiled = openvino.Core().compile_model(openvino.Core().read_model(model.SerializeToString()), "CPU")
arrays = {"Q": np.zeros(sizes["Q"], "float32"), "K": np.zeros(sizes["K"], "float32")}
weights = compiled(arrays | {"V": np.eye(6, dtype="float32")[None, None]})[0][0, 0]
assert weights[5, 0] == 0, f"query 5 gives key 0 the weight {weights[5, 0]:.3f}, at a window of one key back"
