"""Arrays that people hand over in files. What is no .npy file of real numbers is named for what it is."""

import io
import re
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

TEXT = (".csv", ".tsv", ".txt", ".json")
"""Suffixes of text."""

TORCH = "is a file of torch.save: numpy.save('x.npy', torch.load(FILE)['NAME'].float().numpy())"

OTHERS = {
    b"\x1f\x8b": "is compressed by gzip: unpack it with gunzip",
    b"\x89HDF\r\n": "is a file of HDF5: numpy.save('x.npy', h5py.File(FILE)['NAME'][:])",
    b"MATLAB 5": "is a file of MATLAB: numpy.save('x.npy', scipy.io.loadmat(FILE)['NAME'])",
    b"PAR1": "is a file of Parquet: numpy.save('x.npy', pandas.read_parquet(FILE).to_numpy())",
    b"version https://git-lfs": "is a pointer of Git LFS, and not the file itself: run git lfs pull",
    b"\x80\x02\x8a\x0al\xfc\x9cF": TORCH,
    b"\x80": "is a pickle of Python: numpy.save('x.npy', numpy.asarray(pickle.load(open(FILE, 'rb'))))",
    b"\x93NUMPY\x01\x00v\x00{'descr': '<f1'": "holds numbers of one byte each: save x.astype('float32')",
}
"""What files are, by their first bytes, and the remedy."""


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
    if found := next((what for begin, what in OTHERS.items() if content.startswith(begin)), ""):
        return found
    if path.suffix.lower() in TEXT:
        return f"is text: numpy.save('x.npy', {_loaded(path, content)})"
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


def _loaded(path: Path, content: bytes) -> str:
    """The call that reads the numbers of a text."""
    if path.suffix.lower() == ".json":
        return f"numpy.array(json.load(open('{path.name}')))"
    first = content.partition(b"\n")[0].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    parted = next((each for each in ";," if each in first), "")
    comma = f", delimiter='{parted}'" if parted else ""
    if parted == ";" and "," in first:
        # Such spreadsheets write 1,5 for 1.5.
        comma += ", converters=lambda x: float(x.replace(',', '.'))"
    heading = ", skiprows=1" if re.search(r"[^\W\d_]{2,}|[a-df-zA-DF-Z]", re.sub("(?i)nan|inf", "", first)) else ""
    return f"numpy.loadtxt('{path.name}'{comma}{heading})"


def _archive(content: bytes) -> str:
    """What an archive is."""
    try:
        names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    except (OSError, zipfile.BadZipFile, ValueError):
        return ""
    if any(name.endswith("data.pkl") for name in names):
        return TORCH
    arrays = [name.removesuffix(".npy") for name in names if name.endswith(".npy")]
    if not arrays:
        return ""
    return f"is an archive of {', '.join(arrays[:5])}: numpy.save('x.npy', numpy.load(FILE)['{arrays[0]}'])"
