"""Signs the end of a run's chain with a person's SSH key, and checks such a signature.

A signature has the form of OpenSSH (PROTOCOL.sshsig), so `ssh-keygen -Y verify` reads it as well. Signed is the seal of a
turn, 64 hexadecimal digits, with a line feed; the namespace is "engine".

spec: @signed_seals
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from pathlib import Path
from typing import Any

from engine.errors import EngineError, NotFound, ValidationError
from engine.system.installing import how_to_install

NAMESPACE = b"engine"
_MAGIC, _VERSION, _HASH = b"SSHSIG", 1, b"sha512"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
_LINE = 70
_MOST_BYTES = 65_536
"""Keys and signatures are small; a larger file is neither."""


def sign(digest: str, key: Path, passphrase: str | None = None) -> str:
    """The signature of a seal by the private key in a file, in OpenSSH's armour.

    Raises `NotFound` (404) without that file, `ValidationError` (400) for a file that holds no Ed25519 or RSA key or needs
    another passphrase, and `EngineError` (501) without the package `cryptography`.
    """
    from_file = _serialization().load_ssh_private_key
    try:
        private = from_file(_content(key), passphrase.encode() if passphrase else None)
    except (ValueError, TypeError) as error:
        raise ValidationError(f"{key}: holds no private SSH key that can be read: {error}") from None
    public = _wire(private.public_key())
    algorithm = _algorithm(public, key)
    message = _signed(digest)
    made = private.sign(message, *_padding()) if algorithm == b"rsa-sha2-512" else private.sign(message)
    parts = (public, NAMESPACE, b"", _HASH, _strings(algorithm, made))
    blob = _MAGIC + struct.pack(">I", _VERSION) + _strings(*parts)
    text = base64.b64encode(blob).decode()
    return "\n".join([_BEGIN, *(text[at : at + _LINE] for at in range(0, len(text), _LINE)), _END, ""])


def signed_by(digest: str, signature: str, key: Path) -> bool:
    """Whether a signature of this seal was made with the private half of the public key in a file.

    Raises `ValidationError` (400) for a text that is no signature of OpenSSH and for a file without a public key.
    """
    from cryptography.exceptions import InvalidSignature

    public, namespace, _, hashed, made = _parts(signature)
    try:
        expected = _serialization().load_ssh_public_key(_content(key))
    except (ValueError, TypeError) as error:
        raise ValidationError(f"{key}: holds no public SSH key: {error}") from None
    if (namespace, hashed) != (NAMESPACE, _HASH) or public != _wire(expected):
        return False
    algorithm, value = _read(made, 2)
    if algorithm != _algorithm(public, key):
        return False
    try:
        expected.verify(value, _signed(digest), *(_padding() if algorithm == b"rsa-sha2-512" else ()))
    except InvalidSignature:
        return False
    return True


def _signed(digest: str) -> bytes:
    """What is signed: the namespace and the hash of the message, as OpenSSH frames them."""
    return _MAGIC + _strings(NAMESPACE, b"", _HASH, hashlib.sha512(f"{digest}\n".encode()).digest())


def _parts(signature: str) -> list[bytes]:
    """The public key, the namespace, what is reserved, the hash and the value of an armoured signature."""
    begin, found, rest = signature.partition(_BEGIN)
    text, ended, _ = rest.partition(_END)
    try:
        if begin.strip() or not found or not ended:
            raise ValueError
        blob = base64.b64decode("".join(text.split()), validate=True)
        if blob[:6] != _MAGIC or struct.unpack(">I", blob[6:10]) != (_VERSION,):
            raise ValueError
        return _read(blob[10:], 5)
    except (ValueError, struct.error, binascii.Error):
        raise ValidationError("this is not a signature of OpenSSH; 'engine verify --sign KEY' prints one") from None


def _read(blob: bytes, count: int) -> list[bytes]:
    """As many strings as `count` from an SSH message that has no more; raises `ValueError` for another message."""
    found = []
    for _ in range(count):
        if len(blob) < 4 or len(blob) - 4 < (size := struct.unpack(">I", blob[:4])[0]):
            raise ValueError
        found.append(blob[4 : 4 + size])
        blob = blob[4 + size :]
    if blob:
        raise ValueError
    return found


def _strings(*values: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(value)) + value for value in values)


def _wire(public: Any) -> bytes:
    """A public key as SSH writes it."""
    form = _serialization()
    line = public.public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    return base64.b64decode(line.split()[1])


def _algorithm(public: bytes, key: Path) -> bytes:
    kind = public[4 : 4 + struct.unpack(">I", public[:4])[0]]
    if kind not in (b"ssh-ed25519", b"ssh-rsa"):
        raise ValidationError(f"{key}: is a key of the kind {kind.decode(errors='replace')}; use an Ed25519 or RSA key")
    return b"rsa-sha2-512" if kind == b"ssh-rsa" else kind


def _padding() -> tuple[Any, Any]:
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    return padding.PKCS1v15(), hashes.SHA512()


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise NotFound(f"{path}: cannot be read: {error.strerror}") from None
    if len(content) > _MOST_BYTES:
        raise ValidationError(f"{path}: is too large for a key")
    return content


def _serialization() -> Any:
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise EngineError(f"signatures need the package cryptography: {how_to_install('sign')}", 501) from None
    return serialization
