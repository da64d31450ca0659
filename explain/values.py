"""Frozen, slotted dataclasses that cost next to nothing to define.

The standard decorator compiles up to eight methods a class, half a millisecond each, before a program does
anything; a short run uses a third of our classes. Here a constructor is compiled when the first value is made, and
the other methods are shared. What the classes can do is the same: keyword and positional construction, defaults,
equality, hashing, `repr`, `dataclasses.fields` and `dataclasses.replace`.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "fields_of", "replace"]

if TYPE_CHECKING:
    from dataclasses import dataclass, field, replace
else:
    _NOTHING = object()

    class _Field:
        __slots__ = ("factory", "init")

        def __init__(self, factory, init):
            self.factory = factory
            self.init = init

    def field(*, default_factory=None, init=True):
        """A field whose default is made for each value, or that is not an argument of the constructor."""
        return _Field(default_factory, init)

    def replace(value, **changes):
        """A copy of `value` with other values in some fields."""
        cls = value.__class__
        for name in cls.__slots__:
            if name not in changes:
                changes[name] = getattr(value, name)
        return cls(**changes)

    def dataclass(*, frozen=False, slots=True):
        """Makes a slotted class of values from the annotations of a class; `frozen` ones cannot be changed."""
        if not slots:
            raise TypeError("these classes have slots")
        return lambda cls: _slotted(cls, frozen)

    def _slotted(cls, frozen):
        space = dict(cls.__dict__)
        names = tuple(cls.__annotations__)
        defaults = {name: space.pop(name) for name in names if name in space}
        for name in ("__dict__", "__weakref__"):
            space.pop(name, None)
        read = attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)
        space.update(
            __slots__=names,
            __match_args__=names,
            __init__=_first_use(names, defaults, frozen),
            __dataclass_fields__=_StandardFields(defaults),
        )

        def __eq__(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return read(self) == read(other)

        def __repr__(self):
            shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
            return f"{self.__class__.__qualname__}({shown})"

        space.setdefault("__repr__", __repr__)
        if "__eq__" not in space:
            space["__eq__"] = __eq__
            space["__hash__"] = (lambda self: hash(read(self))) if frozen else None
        if frozen:
            space.update(
                __setattr__=_refuse,
                __delattr__=_refuse,
                __reduce__=lambda self: (self.__class__, tuple(getattr(self, name) for name in names)),
            )
        return type(cls)(cls.__name__, cls.__bases__, space)

    _FEW = 12
    """Values of one class that are made without a constructor of its own: to compile one takes longer."""

    def _refuse(self, name, value=None):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot change field {name!r}")

    def _first_use(names, defaults, frozen):
        """An `__init__` that works for every class; the class's own is compiled once enough values were made."""
        allowed = frozenset(name for name in names if not isinstance(defaults.get(name), _Field) or defaults[name].init)
        made = 0

        def __init__(self, *arguments, **named):
            nonlocal made
            made += 1
            cls = self.__class__
            given = dict(zip(names, arguments, strict=False)) | named
            missing = [name for name in names if name not in given]
            wrong = len(given) < len(arguments) + len(named) or not allowed.issuperset(given)
            if made > _FEW or wrong or not defaults.keys() >= set(missing):
                # The compiled one says what is wrong, too.
                cls.__init__ = constructor = _constructor(cls, names, defaults, frozen)
                constructor(self, *arguments, **named)
                return
            for name in missing:
                default = defaults[name]
                if isinstance(default, _Field):
                    if default.factory is None:
                        continue
                    default = default.factory()
                given[name] = default
            write = object.__setattr__
            for name, value in given.items():
                write(self, name, value)
            if hasattr(cls, "__post_init__"):
                self.__post_init__()

        return __init__

    def _constructor(cls, names, defaults, frozen):
        """The real `__init__`; a frozen class's slots are set past its `__setattr__`."""
        known = {"_NOTHING": _NOTHING}
        parameters = []
        body = []
        for name in names:
            default = defaults.get(name, _NOTHING)
            value = name
            if isinstance(default, _Field):
                if not default.init:
                    continue
                known[f"_make_{name}"] = default.factory
                parameters.append(f"{name}=_NOTHING")
                value = f"_make_{name}() if {name} is _NOTHING else {name}"
            elif default is not _NOTHING:
                known[f"_default_{name}"] = default
                parameters.append(f"{name}=_default_{name}")
            else:
                parameters.append(name)
            if frozen:
                known[f"_set_{name}"] = cls.__dict__[name].__set__
                body.append(f"    _set_{name}(self, {value})")
            else:
                body.append(f"    self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("    self.__post_init__()")
        text = "\n".join((f"def __init__(self, {', '.join(parameters)}):", *(body or ["    pass"])))
        exec(text, known)
        constructor = known["__init__"]
        constructor.__qualname__ = f"{cls.__qualname__}.__init__"
        return constructor

    class _StandardFields:
        """What the functions of the standard module ask for, made when one of them asks."""

        def __init__(self, defaults):
            self.defaults = defaults

        def __get__(self, value, cls):
            import dataclasses

            given = {
                name: dataclasses.field(default_factory=default.factory or dataclasses.MISSING, init=default.init)
                if isinstance(default, _Field)
                else default
                for name, default in self.defaults.items()
            }
            twin = type(cls.__name__, (), {"__annotations__": dict(cls.__annotations__), **given})
            return dataclasses.dataclass(twin).__dataclass_fields__


def fields_of(cls: Any) -> tuple[str, ...]:
    """The names of the fields, in order."""
    names: tuple[str, ...] = cls.__slots__
    return names
