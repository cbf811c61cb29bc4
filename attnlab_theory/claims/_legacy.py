"""TEMPORARY while claims are being converted: plain dataclasses get the methods of a Setting."""

import dataclasses


def adopt(kind):
    """Attach the methods."""
    if hasattr(kind, "as_json"):
        return
    kind.fields = lambda self: {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
    kind.as_json = kind.fields
    kind.traced = lambda self: {n: v for n, v in self.fields().items() if isinstance(v, float)}
    kind.static = lambda self: tuple((n, v) for n, v in self.fields().items() if not isinstance(v, float))

    def with_traced(fields):
        setting = object.__new__(kind)
        for name, value in fields.items():
            object.__setattr__(setting, name, value)
        return setting

    kind.with_traced = staticmethod(with_traced)
