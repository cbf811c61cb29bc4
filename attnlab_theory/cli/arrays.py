"""Arrays that people hand over in files. What is no .npy file of real numbers is named for what it is."""

import io
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

TEXT = (".csv", ".tsv", ".txt", ".json")
"""Suffixes of text."""


def read_matrix(path: Path, *, gaps: bool = False, heads: bool = False) -> "np.ndarray":
    """The numbers of a .npy file. bfloat16 becomes float32, and whole numbers float64.

    Args:
        path: the file.
        gaps: whether NaN is allowed.
        heads: whether there may be a matrix for each head, [h n d], or for each head of a batch, [b h n d].

    Raises:
        ValueError: for anything else, with a remedy.
    """
    import numpy as np

    from attnlab_theory import inputs, refuse

    content = inputs.content(path)
    try:
        with warnings.catch_warnings(action="ignore"):
            array = np.load(io.BytesIO(content), allow_pickle=False)
    except MemoryError as error:
        # The file itself is in memory: it is its header that asks for more.
        raise ValueError(f"{path} is not a whole .npy file of numbers, or it is too large: {error}") from None
    except (
        Exception
    ):  # numpy reads a header as Python, and an archive by its directory: anything may be wrong there
        what = _kind(path, content) or "is not a whole .npy file of numbers; write it with numpy.save"
        raise ValueError(f"{path} {what}") from None
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{path} must hold one array of real numbers: it {_archive(content)}")
    array = _widened(array)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{path} must hold one array of real numbers, not {_dtype(array.dtype)}")
    if not 2 <= array.ndim <= (4 if heads else 2) or not array.size:
        several = ", or several, [h n d] or [b h n d]" * heads
        raise ValueError(f"{path} must hold a matrix with one vector per row{several}, not shape {array.shape}")
    if not gaps:
        refuse.non_finite(**{path.name: array})
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _widened(array: "np.ndarray") -> "np.ndarray":
    """bfloat16 as float32. numpy writes it as two bytes without a meaning."""
    import ml_dtypes  # comes with jax
    import numpy as np

    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize == 2:
        return array.view(ml_dtypes.bfloat16).astype(np.float32)
    return array


def _dtype(dtype: "np.dtype") -> str:
    if dtype.names:
        columns = ", ".join(dtype.names)
        return (
            f"a table with the columns {columns}: save "
            "numpy.lib.recfunctions.structured_to_unstructured(array) instead"
        )
    if dtype.kind == "V":
        return f"raw bytes, {dtype.itemsize} for each number: save x.astype('float32')"
    return str(dtype)


def _kind(path: Path, content: bytes) -> str:
    """What a file is that numpy does not read as numbers, and the remedy. Empty if nobody knows."""
    import numpy as np

    if content.startswith(b"PK"):
        return _archive(content)
    if path.suffix == ".safetensors":
        return f"is a file of safetensors: numpy.save('x.npy', safetensors.numpy.load_file('{path.name}')['NAME'])"
    if path.suffix.lower() in TEXT:
        comma = ", delimiter=','" * (path.suffix == ".csv")
        return f"is text: numpy.save('x.npy', numpy.loadtxt('{path.name}'{comma}))"
    if content.startswith(np.lib.format.MAGIC_PREFIX):
        try:
            stream = io.BytesIO(content)
            major, _ = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
            holds_objects = read(stream)[2].hasobject
        except Exception:  # a damaged header
            return ""
        if holds_objects:
            return (
                "holds Python objects and no numbers: save numpy.array(rows, dtype=float), with rows of one length"
            )
    return ""


def _archive(content: bytes) -> str:
    """What an archive is."""
    try:
        names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return ""
    if any(name.endswith("data.pkl") for name in names):
        return "is a file of torch.save: numpy.save('x.npy', torch.load(FILE)['NAME'].float().numpy())"
    arrays = [name.removesuffix(".npy") for name in names if name.endswith(".npy")]
    if not arrays:
        return ""
    return f"is an archive of {', '.join(arrays[:5])}: numpy.save('x.npy', numpy.load(FILE)['{arrays[0]}'])"
