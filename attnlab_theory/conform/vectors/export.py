"""Our vectors as files that need nothing of ours: one of numpy, or folders in the layout of ONNX's backend tests.

A file of numpy holds `about`, JSON as bytes, and for each case its arrays, named CASE/ARRAY. The same version gives
the same bytes. docs/conform.md has a reader of ten lines.
"""

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from attnlab_theory import files
from attnlab_theory.conform.vectors.ours import LEAST, OURS, VERSION, Own

OPSET = 23
"""The first that has Attention. Windows came later, so here a mask says them."""


def about(own: Own) -> dict[str, Any]:
    """What a case is, in plain values."""
    case, chosen = own.case, own.chosen
    return {
        "name": own.name,
        "kind": own.kind,
        "type": case.type,
        "causal": case["causal"],
        "window": case["window"],
        "alignment": chosen["alignment"],
        "scale": own.problem().scale,
        "softcap": case["softcap"],
        "groups": "h % groups" if chosen["interleaved"] else "h // (heads / groups)",
        "features": own.features(),
        "no_ops": list(own.no_ops),
        "invariances": own.invariances(),
    }


def arrays_of(own: Own) -> dict[str, np.ndarray]:
    """What is handed over, [b h t d], what a query sees in all, and the answer with its tolerance, [b h t e]."""
    given = own.given()
    exact, bound = own.answer()
    mask = given.get("pair_mask")
    if mask is not None and not own.case["pair mask axes"]:
        mask = mask[0, 0]
    found = {x: given[x] for x in "qkv"} | {"mask": mask, "bias": given["bias"][0] if "bias" in given else None}
    shown = own.problem().visible
    more = {"visible": shown if shown.shape[0] > 1 else shown[0, 0], "output": exact.output, "tolerance": bound}
    return {name: np.ascontiguousarray(x) for name, x in {**found, **more}.items() if x is not None}


def export_npz(place: Path) -> Path:
    """Write one file of numpy: a place that ends in .npz, or into a folder."""
    path = place if place.suffix == ".npz" else place / f"attention-{VERSION}.npz"
    _make(path.parent)
    files.refuse_unwritable(path, form=files.Form.VECTORS)
    written: dict[str, np.ndarray] = {}
    told = []
    for own in OURS:
        found = arrays_of(own)
        told.append({**about(own), "arrays": list(found)})
        written |= {f"{own.name}/{name}": x for name, x in found.items()}
    head = {"version": VERSION, "least_change": LEAST, "cases": told}
    written["about"] = np.frombuffer(json.dumps(head).encode(), np.uint8)
    with files.replacing(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **written)
    return path


def sayable(own: Own) -> bool:
    """Whether ONNX's operator can say a case: it knows one order of groups, and its scale is a float32."""
    return not own.chosen["interleaved"] and own.case.type != "float64"


def export_onnx(folder: Path) -> Path:
    """Write a folder for each case: model.onnx, test_data_set_0 with inputs, the output and its tolerance.

    Raises:
        ValueError: if onnx is not installed.
    """
    try:
        onnx = importlib.import_module("onnx")
        to_proto = importlib.import_module("onnx.numpy_helper").from_array
        narrow = importlib.import_module("ml_dtypes").bfloat16
    except ImportError as error:
        raise ValueError(f"--export onnx needs onnx ({error}): pip install 'attnlab[conformance]'") from None
    cases = [*filter(sayable, OURS)]
    places = [folder / f"test_conform_{VERSION}_{own.name}" / "test_data_set_0" for own in cases]
    for data in places:
        _make(data)
        model = data.parent / "model.onnx"
        files.refuse_unwritable(model, form=files.Form.VECTORS)
        # A tensor does not say who has written it. The model beside it does, and is written first.
        for tensor in [] if model.exists() else data.glob("*.pb"):
            files.refuse_unwritable(tensor, form=files.Form.LINES)
    for own, data in zip(cases, places, strict=True):
        kind = np.dtype(narrow if own.case.type == "bfloat16" else own.case.type)
        given, said = _onnx_inputs(own, kind)
        found = arrays_of(own)
        make = onnx.helper
        element = make.np_dtype_to_tensor_dtype
        inputs = [make.make_tensor_value_info(n, element(x.dtype), x.shape) for n, x in given.items()]
        output = make.make_tensor_value_info("Y", element(kind), found["output"].shape)
        node = make.make_node("Attention", [*given], ["Y"], **said)
        graph = make.make_graph([node], own.name, inputs, [output])
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", OPSET)], producer_name="attnlab")
        _write(data.parent / "model.onnx", model)
        for i, (name, x) in enumerate(given.items()):
            _write(data / f"input_{i}.pb", to_proto(x, name))
        _write(data / "output_0.pb", to_proto(found["output"].astype(kind), "Y"))
        _write(data / "tolerance_0.pb", to_proto(found["tolerance"], "tolerance"))
    return folder


def _make(folder: Path) -> None:
    try:
        files.make_folder(folder)
    except ValueError as error:
        raise ValueError(str(error).replace("choose another folder with --out", "name another place")) from None


def _onnx_inputs(own: Own, kind: np.dtype) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Inputs and attributes of the operator. A mask says windows, and triangles that it would cut elsewhere."""
    case, given = own.case, arrays_of(own)
    said: dict[str, Any] = {} if case["scale"] is None else {"scale": float(case["scale"])}
    if case["softcap"] is not None:
        said["softcap"] = float(case["softcap"])
    mask = given.get("mask")
    if case["causal"] and case["queries"] == case["keys"]:
        said["is_causal"] = 1
    elif case["causal"] or case["window"] is not None:
        mask = given["visible"]
    inputs = {name.upper(): given[name].astype(kind) for name in "qkv"}
    if "bias" in given:
        bias = given["bias"][None] if mask is None else np.where(mask, given["bias"][None], -np.inf)
        inputs["attn_mask"] = bias.astype(kind)
    elif mask is not None:
        inputs["attn_mask"] = mask
    return inputs, said


def _write(path: Path, proto: Any) -> None:
    with files.replacing(path) as temporary:
        temporary.write_bytes(proto.SerializeToString(deterministic=True))
