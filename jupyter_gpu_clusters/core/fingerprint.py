"""What may be recorded of a credential: a mark that tells it from others and gives nothing away."""

from __future__ import annotations

import hashlib
import hmac

from pydantic import SecretStr

from .paths import data_dir, salt_in

_LENGTH = 16


def fingerprint(*secrets: SecretStr) -> str:
    """Salted HMAC-SHA-256 of a credential and its parts, 16 hex digits; for `RemoteIdentity.credential`.

    Blocks for reading one small file.
    """
    text = "\0".join(secret.get_secret_value() for secret in secrets)
    return hmac.new(salt_in(data_dir()), text.encode(), hashlib.sha256).hexdigest()[:_LENGTH]
