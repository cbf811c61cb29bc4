"""What can be seen of a target without a call, and what torch and jax want beside arrays.

`harness` loads this file by its path, so it imports nothing of this package.
"""

import ast
import contextlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

FRAMEWORKS = ("torch", "jax")


class Unfit(ValueError):
    """A target that cannot be judged as it is. The message says what to do."""


def made(target: Any) -> Any:
    """The target itself, or what a class makes of no arguments; a module of torch in evaluation mode.

    Raises:
        Unfit: if the class must be given arguments.
    """
    if not isinstance(target, type):
        return target
    if missing := _missing(target):
        given, more = ", ".join(f"{name}=..." for name in missing), ".eval()" * _is_module(target)
        raise Unfit(
            f"it is a class that must be given {', '.join(missing)}. Write model = {target.__name__}({given}){more}"
            " into a file.py, and name file.py::model. If it projects, write an adapter with identity projections: "
            "attnlab conform --template torch"
        )
    found = target()
    return found.eval() if _is_module(target) else found


def _missing(kind: type) -> list[str]:
    """What a class must be given."""
    with contextlib.suppress(ValueError, TypeError):
        wanted = inspect.signature(kind).parameters.values()
        kinds = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "KEYWORD_ONLY")
        return [x.name for x in wanted if x.default is inspect.Parameter.empty and x.kind.name in kinds]
    return []


def _is_module(kind: type) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and issubclass(kind, torch.nn.Module)


def about(target: Any) -> dict[str, Any]:
    """What can be seen of a target.

    Returns:
        `parameters`: name, kind and whether it must be given, of each; None where that cannot be seen.
        `defaults`: the numbers, flags and pairs of whole numbers among their defaults.
        `uses`: the frameworks by which it is written; `loaded`: those that are there.
        `versions`: of the package that it comes from, and of the frameworks that are there, if they say it.
        `mode`: training or evaluation, of a module of torch; `training`: the same as a flag, of anything.
        `learns`: the parameters of such a module, with their shapes.
    """
    signature = _signature(target)
    told: dict[str, Any] = {
        "parameters": parameters(target),
        "defaults": {
            each.name: each.default
            for each in (signature.parameters.values() if signature else ())
            if _is_plain(each.default)
        },
        "uses": _uses(target),
        "versions": _versions(target),
        "loaded": [each for each in FRAMEWORKS if each in sys.modules],
        "training": getattr(target, "training", False) is True,
        "mode": "",
        "learns": [],
    }
    if _is_module(type(target)):
        told["mode"] = "training" if target.training else "evaluation"
        told["learns"] = [f"{name} {[*x.shape]}" for name, x in target.named_parameters()][:3]
    return told


def _versions(target: Any) -> dict[str, str]:
    """The versions of the package of a target, and of the frameworks that are there."""
    own = target if hasattr(target, "__qualname__") else type(target)
    found = {}
    for name in ((getattr(own, "__module__", None) or "").partition(".")[0], "numpy", *FRAMEWORKS):
        version = getattr(sys.modules.get(name), "__version__", None)
        if isinstance(version, str):
            found[name] = version
    return found


def _is_plain(default: Any) -> bool:
    """Whether a default is a number, a flag or a tuple of whole numbers."""
    if isinstance(default, tuple) and default:
        return all(isinstance(x, int) for x in default)
    return isinstance(default, bool | int | float)


def parameters(target: Any) -> list[list[Any]] | None:
    """Name, kind and whether it must be given, of each parameter; None where that cannot be seen."""
    signature = _signature(target)
    if signature is None:
        return None
    found = signature.parameters.values()
    return [[each.name, each.kind.name, each.default is inspect.Parameter.empty] for each in found]


def _signature(target: Any) -> inspect.Signature | None:
    """The signature of a target: of `forward` where a call calls that, or as its docstring begins."""
    found = None
    inner = getattr(target, "_orig_mod", target)
    for each in (target, getattr(inner, "forward", target)):
        with contextlib.suppress(TypeError, ValueError):
            found = inspect.signature(each)
            if any(not x.kind.name.startswith("VAR_") for x in found.parameters.values()):
                return found
    # Compiled functions have no signature, but torch and numpy write one down.
    said = re.match(r"\s*\w+\(([^()]*)\)\s*->", getattr(target, "__doc__", None) or "")
    if found is None and said:
        with contextlib.suppress(SyntaxError, ValueError):
            return _parsed(said[1])
    return found


def _parsed(written: str) -> inspect.Signature:
    function = ast.parse(f"def f({written}): pass").body[0]
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    kinds = [(each, inspect.Parameter.POSITIONAL_OR_KEYWORD) for each in (*given.posonlyargs, *given.args)]
    defaults: list[Any] = [None] * (len(kinds) - len(given.defaults)) + given.defaults
    kinds += [(each, inspect.Parameter.KEYWORD_ONLY) for each in given.kwonlyargs]
    defaults += given.kw_defaults
    return inspect.Signature(
        [
            inspect.Parameter(
                each.arg, kind, default=inspect.Parameter.empty if value is None else ast.literal_eval(value)
            )
            for (each, kind), value in zip(kinds, defaults, strict=True)
        ]
    )


def _uses(target: Any) -> list[str]:
    """The frameworks that a function's globals, its own lines, its module or its bases name."""
    function = inspect.unwrap(target) if callable(target) else target
    own = getattr(function, "__globals__", None)
    if own is None:
        own = vars(sys.modules.get(type(function).__module__, sys))
    names = {str(getattr(value, "__name__", "")).partition(".")[0] for value in [*own.values()]}
    names |= {*getattr(getattr(function, "__code__", None), "co_names", ())}
    places = [getattr(function, "__module__", None), *(each.__module__ for each in type(function).__mro__)]
    names |= {str(place).partition(".")[0] for place in places}
    return [each for each in FRAMEWORKS if each in names]


@contextlib.contextmanager
def mode(plan: dict[str, Any]) -> Iterator[None]:
    """Torch keeps no track for gradients where the plan says so."""
    if plan["framework"] != "torch":
        yield
        return
    import torch  # pyright: ignore[reportMissingImports]

    with torch.set_grad_enabled(plan.get("gradients", True)):
        yield


def _seeded(seed: int) -> None:
    import random

    random.seed(seed)
    for name, start in (("numpy", lambda it: it.random.seed(seed)), ("torch", lambda it: it.manual_seed(seed))):
        if name in sys.modules:
            start(sys.modules[name])


def generators(asked: dict[str, list[Any]]) -> dict[str, Any]:
    """Sources of randomness by the names of parameters, each asked for by its style and a seed.

    A style is int, numpy, jax or torch. The empty name seeds what numpy, torch and Python share.
    """
    import numpy as np

    found: dict[str, Any] = {}
    for name, (style, seed) in asked.items():
        if not name:
            _seeded(seed)
        elif style == "jax":
            import jax

            found[name] = jax.random.PRNGKey(seed)
        elif style == "torch":
            import torch  # pyright: ignore[reportMissingImports]

            found[name] = torch.Generator().manual_seed(seed)
        else:
            found[name] = np.random.default_rng(seed) if style == "numpy" else seed
    return found


def tracked(x: Any) -> Any:
    """A tensor of torch whose gradient is wanted, if it holds numbers with a point."""
    return x.requires_grad_() if hasattr(x, "requires_grad_") and x.is_floating_point() else x


def pulled_back(
    framework: str,
    called: Callable[[Sequence[Any]], Any],
    handed: Sequence[Any],
    cotangent: Any,
    back: Callable[[Any], Any],
) -> Any:
    """The gradients of sum(cotangent * output), for every array of numbers with a point, end to end in numpy."""
    import numpy as np

    def output(came: Any) -> Any:
        return came[0] if isinstance(came, tuple | list) else came

    if framework == "torch":
        import torch  # pyright: ignore[reportMissingImports]

        out = output(called(handed))
        if not out.requires_grad:
            raise TypeError("the output keeps none")
        inputs = [x for x in handed if x.requires_grad]
        found = torch.autograd.grad(out, inputs, cotangent.detach().to(out.dtype), allow_unused=True)
        found = [torch.zeros_like(x) if each is None else each for x, each in zip(inputs, found, strict=True)]
    else:
        import jax

        places = [i for i, x in enumerate(handed) if jax.numpy.issubdtype(x.dtype, jax.numpy.floating)]

        def of_floats(*floats: Any) -> Any:
            every = [*handed]
            for place, x in zip(places, floats, strict=True):
                every[place] = x
            return output(called(every))

        out, pull = jax.vjp(of_floats, *(handed[place] for place in places))
        found = pull(cotangent.astype(out.dtype))
    return np.concatenate([np.asarray(back(x), np.float64).ravel() for x in found])
