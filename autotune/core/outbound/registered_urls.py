"""Checks the URLs of graders, webhooks and identity providers when a person registers them, and normalises them."""

import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from unicodedata import normalize
from urllib.parse import quote

import idna

from autotune.core.outbound.addresses import (
    AllowedNetwork,
    Kind,
    address_allowed,
    allowed_by,
    is_public,
    port_is_public,
)

MAX_URL: Final = 2048
_LOOPBACK: Final = (ip_address("127.0.0.1"), ip_address("::1"))
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::([^:]*))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMERIC_LABEL = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%(?:[01][0-9A-Fa-f]|7[Ff])", re.ASCII)
_INNER_SUFFIXES: Final = (".local", ".localdomain", ".internal", ".intranet", ".lan", ".home.arpa", ".corp", ".private")
_NEVER: Final = ("metadata.google.internal", "instance-data.ec2.internal")
MAY_BE_ALLOWED: Final = frozenset({"scheme_refused", "address_refused", "port_refused"})
_CALL_PATHS: Final = ("/score/batch", "/score", "/health")


class AddressRefused(ValueError):
    """A URL that Autotune does not call. `code` is stable, `message` says what is wrong with it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check_url(url: str, *, allow: Sequence[AllowedNetwork], kind: Kind) -> str:
    """Check a URL that was given to Autotune to call, and return it in its normal form.

    allow   the allowances of this kind
    kind    a grader's base URL takes no query and loses its final slashes; the others keep both
    raises  AddressRefused, which names the variable to set where an operator may allow the address
    """
    if not isinstance(url, str) or not url:
        raise AddressRefused("invalid_url", "Give a URL.")
    if len(url) > MAX_URL:
        raise AddressRefused("url_too_long", f"A URL may have at most {MAX_URL:,} characters.")
    if any(char <= " " or "\x7f" <= char <= "\xa0" or char == "\\" or "\ud800" <= char <= "\udfff" for char in url):
        raise AddressRefused("invalid_url", "A URL must not contain spaces, control characters or backslashes.")
    match = _URL.fullmatch(url)
    if match is None:
        raise AddressRefused("invalid_url", "Give a whole URL, such as https://grader.example.com/v1.")
    scheme, authority, path, query = match[1].lower(), match[2], match[3], match[4]
    if scheme not in ("https", "http"):
        raise AddressRefused("scheme_refused", "Only https URLs are allowed.")
    if match[5] is not None:
        raise AddressRefused("fragment_refused", "Remove the fragment (the part after #) from the URL.")
    if "@" in authority:
        raise AddressRefused("userinfo_refused", "Remove the user name and password from the URL.")
    if query is not None and kind == "grader":
        raise AddressRefused("query_refused", "Remove the query (the part after ?) from the grader's endpoint.")
    host_and_port = _AUTHORITY.fullmatch(authority)
    if host_and_port is None or not host_and_port[1]:
        raise AddressRefused("invalid_host", "The URL has no valid host. Enter one such as grader.example.com.")
    port = _port(host_and_port[2], scheme)
    try:
        host = _host(host_and_port[1], port, scheme, allow)
    except AddressRefused as exc:
        if exc.code in MAY_BE_ALLOWED:
            raise AddressRefused(exc.code, f"{exc.message} {allowed_by(kind)}") from exc
        raise
    suffix = "" if port == (443 if scheme == "https" else 80) else f":{port}"
    return f"{scheme}://{host}{suffix}{_path(path, kind)}{_query(query)}"


def _port(text: str | None, scheme: str) -> int:
    if not text:
        return 443 if scheme == "https" else 80
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise AddressRefused("port_refused", "The port must be a number from 1 to 65535.")
    return int(text)


def _host(text: str, port: int, scheme: str, allow: Sequence[AllowedNetwork]) -> str:
    if text.startswith("["):
        return _literal_host(text[1:-1], port, scheme, allow, IPv6Address)
    name = _name(text)
    last = name.rpartition(".")[2]
    if _NUMERIC_LABEL.fullmatch(last):
        return _literal_host(name, port, scheme, allow, IPv4Address)
    if name == "localhost":
        if any(entry.covers(address, port) for entry in allow for address in _LOOPBACK):
            return name
        raise AddressRefused("address_refused", "localhost is this server itself, which Autotune does not call.")
    if scheme == "http":
        raise AddressRefused("scheme_refused", "Only https URLs are allowed: plain http would expose every answer.")
    inner = "." not in name or name.endswith(_INNER_SUFFIXES)
    if name.endswith((".localhost", ".onion")) or name in _NEVER or (inner and not allow):
        raise AddressRefused("address_refused", f"{name} is not a public name.")
    if not port_is_public(port) and not any(entry.covers_port(port) for entry in allow):
        raise AddressRefused(
            "port_refused", f"Port {port} is not allowed. Use 443, or a port from 1024 that no common database uses."
        )
    return name


def _literal_host(
    text: str, port: int, scheme: str, allow: Sequence[AllowedNetwork], family: type[IPv4Address] | type[IPv6Address]
) -> str:
    try:
        if "%" in text:
            raise ValueError("zone")
        address = family(text)
    except ValueError as exc:
        raise AddressRefused(
            "invalid_host", "The host is not an IP address in the usual form, such as 192.0.2.10 or [2001:db8::10]."
        ) from exc
    if address_allowed(address, port, scheme=scheme, allow=allow):
        return str(address) if address.version == 4 else f"[{address}]"
    if scheme == "http":
        raise AddressRefused("scheme_refused", "Only https URLs are allowed: plain http would expose every answer.")
    if is_public(address):
        raise AddressRefused(
            "port_refused", f"Port {port} is not allowed. Use 443, or a port from 1024 that no common database uses."
        )
    raise AddressRefused("address_refused", f"{address} is not a public address.")


def _name(text: str) -> str:
    """Return a host name in its ASCII form, lower case, without a final full stop."""
    name = text.lower().removesuffix(".")
    if not name.isascii():
        if any(mark in name for mark in "\u3002\uff0e\uff61"):
            raise AddressRefused(
                "invalid_host", "The host contains a full stop that is not ASCII. Replace it with a plain one."
            )
        try:
            name = idna.encode(normalize("NFC", name), std3_rules=True).decode("ascii")
        except (idna.IDNAError, UnicodeError) as exc:
            raise AddressRefused("invalid_host", "The host is not a valid international name.") from exc
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise AddressRefused(
            "invalid_host", "The host is not a valid name: labels of 1 to 63 letters, digits and hyphens."
        )
    return name


def _path(path: str, kind: Kind) -> str:
    if _BAD_ESCAPE.search(path):
        raise AddressRefused("invalid_url", "The path contains a malformed or forbidden % escape.")
    plain = re.sub("%2[eE]", ".", path)
    if any(part in (".", "..") for part in re.split(r"/|%2[fF]|%5[cC]", plain)):
        raise AddressRefused("path_refused", "Remove the segments . and .. from the path.")
    normal_path = quote(plain, safe="/%:@!$&'()*+,;=~-._")
    if kind != "grader":
        return normal_path or "/"
    normal_path = normal_path.rstrip("/")
    for ending in _CALL_PATHS:
        if normal_path.endswith(ending):
            base = normal_path.removesuffix(ending)
            raise AddressRefused(
                "endpoint_path_refused",
                f"Enter the base URL only: Autotune appends {ending}. Here the base ends in '{base or '/'}'.",
            )
    return normal_path


def _query(query: str | None) -> str:
    if not query:
        return ""
    if _BAD_ESCAPE.search(query):
        raise AddressRefused("invalid_url", "The query contains a malformed or forbidden % escape.")
    return quote(query, safe="?/%:@!$&'()*+,;=~-._[]")
