"""A reader of TFRecord files written against their specification, and sharing nothing with what writes them."""

import struct

POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected


def crc32c(octets):
    crc = 0xFFFFFFFF
    for octet in octets:
        crc ^= octet
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(octets):
    crc = crc32c(octets)
    return ((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + 0xA282EAD8 & 0xFFFFFFFF


def messages(octets):
    """Of each record, with both checksums checked."""
    at, found = 0, []
    while at < len(octets):
        (length, check) = struct.unpack_from("<QI", octets, at)
        assert check == masked(octets[at : at + 8]), f"length at {at}"
        message = octets[at + 12 : at + 12 + length]
        assert len(message) == length
        assert struct.unpack_from("<I", octets, at + 12 + length)[0] == masked(message), f"message at {at}"
        found.append(message)
        at += 16 + length
    return found


def examples(octets):
    """Of each record, name -> list of values."""
    return [example(message) for message in messages(octets)]


def example(message):
    ((number, features),) = fields(message) or ((1, b""),)
    assert number == 1
    names, found = [], {}
    for number, entry in fields(features):
        assert number == 1
        (_, name), (_, feature) = fields(entry)
        names.append(name.decode())
        found[names[-1]] = values(feature)
    assert names == sorted(names)
    assert len(names) == len(found)
    return found


def values(feature):
    ((kind, packed),) = fields(feature)
    listed = fields(packed)
    if kind == 1:
        return [value for _, value in listed]
    ((_, octets),) = listed
    if kind == 2:
        return list(struct.unpack(f"<{len(octets) // 4}f", octets))
    found, at = [], 0
    while at < len(octets):
        number, at = varint(octets, at)
        found.append(number - 2**64 if number >= 2**63 else number)
    return found


def fields(message):
    """(number, octets) of each field; all of these messages' fields have a length."""
    at, found = 0, []
    while at < len(message):
        tag, at = varint(message, at)
        assert tag & 7 == 2, tag
        length, at = varint(message, at)
        assert at + length <= len(message)
        found.append((tag >> 3, message[at : at + length]))
        at += length
    return found


def varint(octets, at):
    number = shift = 0
    while True:
        octet = octets[at]
        number |= (octet & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if octet < 0x80:
            return number, at
