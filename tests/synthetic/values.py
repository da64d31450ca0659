"""Stand-ins for runtime values: whatever an error message does with them works and gives some text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

TEXTS = (
    "17",
    "0",
    "-1",
    "None",
    "True",
    "cuda:3",
    "meta-llama/Llama-3.1-8B-Instruct",
    "torch.bfloat16",
    "torch.Size([4, 128])",
    "/data/models/x y/config.json",
    "['fa3', 'triton']",
    "{'type': 'linear', 'factor': 4.0}",
    "10.0.0.7:30000",
    "a value: with a colon, and (brackets)",
    "CUDA out of memory. Tried to allocate 1.17 GiB.",
    "two\nlines",
    "<class 'int'>",
)


class Value:
    """Any value at all. Attributes, calls, items and arithmetic give further values."""

    def __init__(self, chance: random.Random, whole: bool | None = None) -> None:
        self._chance = chance
        self._text = chance.choice(TEXTS)
        self._number = chance.choice((0, 1, 7, 128, 65536))

    def _next(self, *_: Any, **__: Any) -> Value:
        return Value(self._chance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__name__":
            raise AttributeError(name)
        if name in ("__name__", "__qualname__"):
            return "Qwen2ForCausalLM"
        return Value(self._chance)

    __call__ = __getitem__ = _next

    def __add__(self, other: Any) -> Any:
        return f"{self._text}{other}" if isinstance(other, str) else Value(self._chance)

    def __radd__(self, other: Any) -> Any:
        return f"{other}{self._text}" if isinstance(other, str) else Value(self._chance)

    __sub__ = __rsub__ = __mul__ = __rmul__ = _next
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __pow__ = _next
    __and__ = __or__ = __ror__ = __xor__ = __neg__ = __invert__ = __lshift__ = __rshift__ = _next

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return repr(self._text)

    def __format__(self, spec: str) -> str:
        for value in (self._number, float(self._number), self._text):
            try:
                return format(value, spec) if spec else self._text
            except ValueError:
                continue
        return self._text

    def __bool__(self) -> bool:
        return self._chance.random() < 0.5

    def __int__(self) -> int:
        return self._number

    __index__ = __len__ = __hash__ = __int__

    def __float__(self) -> float:
        return float(self._number)

    def __round__(self, digits: int | None = None) -> float:
        return float(self._number)

    def __abs__(self) -> Value:
        return self

    def __iter__(self) -> Iterator[Value]:
        return iter([Value(self._chance), Value(self._chance)])

    def __contains__(self, other: object) -> bool:
        return bool(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __lt__(self, other: object) -> bool:
        return id(self) < id(other)

    __le__ = __gt__ = __ge__ = __lt__

    def __enter__(self) -> Value:
        return self

    def __exit__(self, *_: Any) -> None:
        return None
