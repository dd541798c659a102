"""A reader of TFRecord files written against their specification, and sharing nothing with what writes them."""

import struct

POLYNOMIAL = 0x82F63B78  # CRC-32C, reflected


def crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(content):
    crc = crc32c(content)
    return ((crc >> 15) | (crc << 17 & 0xFFFFFFFF)) + 0xA282EAD8 & 0xFFFFFFFF


def messages(content):
    """Of each record, with both checksums checked."""
    offset, payloads = 0, []
    while offset < len(content):
        (length, check) = struct.unpack_from("<QI", content, offset)
        assert check == masked(content[offset : offset + 8]), f"length at {offset}"
        message = content[offset + 12 : offset + 12 + length]
        assert len(message) == length
        assert struct.unpack_from("<I", content, offset + 12 + length)[0] == masked(message), f"message at {offset}"
        payloads.append(message)
        offset += 16 + length
    return payloads


def examples(content):
    """Of each record, name -> list of values."""
    return [example(message) for message in messages(content)]


def example(message):
    ((number, features),) = fields(message) or ((1, b""),)
    assert number == 1
    names, values_by_name = [], {}
    for number, entry in fields(features):
        assert number == 1
        (_, name), (_, feature) = fields(entry)
        names.append(name.decode())
        values_by_name[names[-1]] = values(feature)
    assert names == sorted(names)
    assert len(names) == len(values_by_name)
    return values_by_name


def values(feature):
    ((kind, packed),) = fields(feature)
    listed = fields(packed)
    if kind == 1:
        return [value for _, value in listed]
    ((_, content),) = listed
    if kind == 2:
        return list(struct.unpack(f"<{len(content) // 4}f", content))
    numbers, offset = [], 0
    while offset < len(content):
        number, offset = varint(content, offset)
        numbers.append(number - 2**64 if number >= 2**63 else number)
    return numbers


def fields(message):
    """(number, bytes) of each field; all of these messages' fields have a length."""
    offset, entries = 0, []
    while offset < len(message):
        tag, offset = varint(message, offset)
        assert tag & 7 == 2, tag
        length, offset = varint(message, offset)
        assert offset + length <= len(message)
        entries.append((tag >> 3, message[offset : offset + length]))
        offset += length
    return entries


def varint(content, offset):
    number = shift = 0
    while True:
        byte = content[offset]
        number |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return number, offset
