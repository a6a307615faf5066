"""Digests of what is stored, and compared, by its content."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL first, which takes as long as a third of a start of Python
except ImportError:
    from hashlib import blake2b

__all__ = ["DIGEST_SIZE", "blake2b", "digest"]

DIGEST_SIZE = 16


def digest(data: bytes) -> bytes:
    """A digest of `DIGEST_SIZE` bytes."""
    return blake2b(data, digest_size=DIGEST_SIZE).digest()
