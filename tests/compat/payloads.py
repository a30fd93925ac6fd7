"""What RESTORE is given: values of every form that redis-server 7.0 reads, with right and wrong ends."""

import os
import struct

CORPUS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "fuzz", "corpus", "restore")
POLYNOMIAL = 0x95AC9329AC4BC9B5  # its bits in reverse
VERSION = 10
NEWER = {"old_set_pack"}  # a form of Redis 7.2


def crc64(data):
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (POLYNOMIAL if crc & 1 else 0)
    return crc


def payload(value, version=VERSION):
    """A type and a content as DUMP gives them."""
    data = value + struct.pack("<H", version)
    return data + struct.pack("<Q", crc64(data))


def load():
    payloads = []
    for name in sorted(os.listdir(CORPUS)):
        if name.startswith(("redis_", "old_")) and name not in NEWER:
            with open(os.path.join(CORPUS, name), "rb") as file:
                payloads.append(payload(file.read()))
    return payloads


SOUND = load()
WRONG = [
    b"",
    b"abc",
    payload(b""),
    payload(b"\x00"),
    payload(b"\x06\x00"),
    payload(b"\xff\x00"),
    payload(b"\x00\x3fhell"),  # were it less, Redis would take version and checksum for text
    payload(b"\x01\x00"),
    payload(b"\x02\x02\x01a\x01a"),
    payload(b"\x04\x00"),
    payload(b"\x05\x01\x01a\x00\x00\x00\x00\x00\x00\xf8\x7f"),
    payload(b"\x10\x07\x07\x00\x00\x00\x00\x00\xff"),
    payload(b"\x00\x05hello", 99),
    SOUND[0][:-1] + bytes([SOUND[0][-1] ^ 1]),
]
