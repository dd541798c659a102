"""Returns the memory of large requests to the system. Does nothing on a C library other than glibc."""

import ctypes
import gc
from contextlib import suppress
from typing import Any, Final

LARGE: Final = 4 * 2**20  # bytes of a request from which this is worth a few milliseconds
_MMAP_THRESHOLD: Final = -3  # mallopt's M_MMAP_THRESHOLD


def _library() -> Any:
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        return library if library.malloc_trim and library.mallopt else None
    return None


_libc: Final = _library()


def keep_large_blocks_apart() -> None:
    """Stop glibc from learning to keep larger blocks, up to 32 MiB, with each freed one. Called once per process."""
    if _libc is not None:
        _libc.mallopt(_MMAP_THRESHOLD, 2**20)


def release() -> None:
    """Return free memory after a large request. An error may leave the body in a cycle, so collect garbage first."""
    gc.collect()  # takes milliseconds: it skips what was loaded at the start, which is frozen
    if _libc is not None:
        _libc.malloc_trim(0)
