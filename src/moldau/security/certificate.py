"""What a certificate says: of whom it speaks, under which names he may be reached, and until when.

Nothing is verified here; that is the business of whoever let its owner in. Distinguished names are written as Java's
`X500Principal` does (RFC 2253), because that is what mapping rules, access rules and super users are written for.
"""

from __future__ import annotations

import ipaddress
from typing import Final

from moldau.security.der import OBJECT_ID, SEQUENCE, SET, DerError, Element, object_id, only

# The attributes that RFC 2253 has words for. All others are their object ids, with the value in hexadecimal.
_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
# Kinds of text: UTF8, printable, T61, IA5, general, BMP.
_TEXTS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
_ESCAPED: Final = ',=+<>#;"\\'
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_ALTERNATIVE_NAMES: Final = "2.5.29.17"
_MAIL, _HOST, _URI, _ADDRESS = 0x81, 0x82, 0x86, 0x87
_PREFIXES: Final = {_MAIL: "email", _HOST: "DNS", _URI: "URI"}


class Certificate:
    """DerError if it is none."""

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded
        parts = only(encoded).inside()
        if len(parts) != 3 or parts[0].tag != SEQUENCE:
            raise DerError("this is no certificate")
        fields = parts[0].inside()
        if fields and fields[0].tag == _VERSION:
            del fields[0]
        if len(fields) < 6 or any(fields[place].tag != SEQUENCE for place in (2, 3, 4)):
            raise DerError("this is no certificate")
        self._subject = fields[4]
        self.subject_name, self.issuer_name = fields[4].encoded, fields[2].encoded
        self._extensions = next((each for each in fields[6:] if each.tag == _EXTENSIONS), None)

    @property
    def subject(self) -> str:
        """Empty where it names nobody."""
        return distinguished_name(self._subject)

    @property
    def alternative_names(self) -> frozenset[str]:
        """Hosts, addresses and the like that it stands for as well, each with its kind before it."""
        if self._extensions is None:
            return frozenset()
        for extension in only(self._extensions.content).inside():
            inside = extension.inside()
            if inside and inside[0].tag == OBJECT_ID and object_id(inside[0].content) == _ALTERNATIVE_NAMES:
                return frozenset(_general_name(name) for name in only(inside[-1].content).inside())
        return frozenset()


def distinguished_name(name: Element) -> str:
    """The last part first, as RFC 2253 wants it."""
    parts = []
    for part in name.inside():
        if part.tag != SET:
            raise DerError("a name that is none")
        parts.append("+".join(_attribute(attribute) for attribute in part.inside()))
    return ",".join(reversed(parts))


def _attribute(attribute: Element) -> str:
    inside = attribute.inside()
    if len(inside) != 2 or inside[0].tag != OBJECT_ID:
        raise DerError("a name that is none")
    kind, value = object_id(inside[0].content), inside[1]
    keyword = _KEYWORDS.get(kind)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or kind}=#{value.encoded.hex()}"
    # Java reads every kind of text as if it were UTF-8.
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    """Blanks at either end and what means something in a name get a backslash."""
    inner = text.strip(" \r")
    if not inner:
        return "".join("\\" + letter for letter in text)
    before, after = text[: text.index(inner)], text[text.index(inner) + len(inner) :]
    middle = "".join("\\00" if each == "\0" else "\\" + each if each in _ESCAPED else each for each in inner)
    return "".join("\\" + each for each in before) + middle + "".join("\\" + each for each in after)


def _general_name(name: Element) -> str:
    if name.tag == _ADDRESS and len(name.content) in (4, 16):
        return f"IP:{ipaddress.ip_address(name.content)}"
    if name.tag in _PREFIXES:
        return f"{_PREFIXES[name.tag]}:{name.content.decode('utf-8', 'replace')}"
    return f"{name.tag:#x}:{name.content.hex()}"
