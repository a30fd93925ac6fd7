"""Texts that are numbers, nearly numbers, or at the edge of what a number may be."""

import struct
from fractions import Fraction

DOUBLE_FORMS = ("%.17g", "%r", "%.15g", "%.3f", "%.20e", "%.8E", "%+.6f", "%.17f")
WORDS = [
    b"inf", b"-inf", b"+inf", b"INF", b"Infinity", b"-INFINITY", b"infinit", b"infinityx", b"nan", b"-nan",
    b"NaN", b"nan(1)", b"nan()", b"", b".", b"-", b"+", b"e", b"e5", b"1e", b"1e+", b"0x", b"0x.", b"0x1p",
    b".5", b"5.", b"-.5e-1", b"00", b"-0", b"+0", b"-0.0", b"0e0", b"0x0p-9999", b"1_0", b"1,5", b"0b1", b"0o7",
    b"0x.8", b"0X1P+3", b"0x1.8", b"0x10", b"1e5000", b"-1e5000", b"1e-5000", b"4.9e-324", b"2.4e-324", b"2.5e-324",
    b"1.7976931348623157e308", b"1.7976931348623158e308", b"1.7976931348623159e308", b"2.2250738585072011e-308",
    b"2.2250738585072014e-308", b"1.18973149535723176502e+4932", b"1.18973149535723176509e+4932", b"3.6e-4951",
    b"1.8e-4951", b"1.9e-4951", b"0.1e-4950", b"1e4931", b"-1e4932", b"9007199254740993", b"9007199254740992.5",
]  # fmt: skip
STRAY = [b" ", b"\t", b"\n", b"\x0b", b"\0", b"+", b"-", b".", b"e", b"0", b"x", b"_", b"9", b"\xa0", b"p", b"n"]
POWERS = [2**8, 2**15, 2**16, 2**31, 2**32, 2**52, 2**53, 2**62, 2**63, 2**64, 10**18, 10**19, 10**20]
LONG_DIGITS_MAX = 5200  # more than any reader takes


class Texts:
    """Draws them, from chance that is given."""

    def __init__(self, rng):
        self.rng = rng
        self.kinds = [
            (8, self.double), (4, self.short), (3, self.integer), (3, self.near_power), (2, self.digits),
            (2, self.hexadecimal), (2, self.halfway), (1, self.extreme), (1, self.word), (0.02, self.long),
        ]  # fmt: skip
        self.weights = [weight for weight, _ in self.kinds]

    def draw(self):
        text = self.rng.choices(self.kinds, self.weights)[0][1]()
        return self.spoilt(text) if self.rng.random() < 0.04 else text

    def any_double(self):
        """Any bits, or a size that people use."""
        rng = self.rng
        if rng.random() < 0.5:
            value = struct.unpack("<d", rng.getrandbits(64).to_bytes(8, "little"))[0]
            return value if value == value and abs(value) != float("inf") else 0.0
        return rng.choice((-1, 1)) * rng.random() * 10.0 ** rng.randrange(-12, 22)

    def double(self):
        value = self.any_double()
        form = self.rng.choice(DOUBLE_FORMS)
        if form.endswith("f") and abs(value) > 1e40:
            form = "%r"  # hundreds of digits are long()'s matter
        return (form % value).encode()

    def short(self):
        """What people write: few digits, few decimals."""
        rng = self.rng
        number = rng.randrange(10 ** rng.randrange(1, 9))
        decimals = rng.randrange(6)
        text = "%.*f" % (decimals, number / 10**decimals)
        return ("-" * rng.randrange(2) + text).encode()

    def integer(self):
        number = self.rng.getrandbits(self.rng.randrange(1, 70))
        return b"%d" % self.rng.choice((number, -number))

    def near_power(self):
        number = self.rng.choice(POWERS) + self.rng.randrange(-3, 4)
        return b"%d" % self.rng.choice((number, -number))

    def digits(self):
        """More digits than a number keeps, with and without a point and an exponent."""
        rng = self.rng
        text = "".join(rng.choice("0123456789") for _ in range(rng.randrange(1, 45)))
        if rng.random() < 0.7:
            at = rng.randrange(len(text) + 1)
            text = text[:at] + "." + text[at:]
        if rng.random() < 0.5:
            text += rng.choice("eE") + rng.choice(("", "+", "-")) + str(rng.randrange(40))
        return (rng.choice(("", "", "-", "+")) + text).encode()

    def hexadecimal(self):
        text = self.any_double().hex()
        if self.rng.random() < 0.3:
            text = "%s0x%x" % (self.rng.choice(("", "-")), self.rng.getrandbits(self.rng.randrange(1, 70)))
        return (text.upper() if self.rng.random() < 0.2 else text).encode()

    def halfway(self):
        """Exactly between two doubles, or a hair beside: rounding shows."""
        rng = self.rng
        mantissa = (1 << 53) + 2 * rng.getrandbits(52) + 1  # 54 bits, odd: between two doubles
        shift = rng.randrange(-60, 60)
        value = Fraction(mantissa) * Fraction(2) ** shift
        if value.denominator == 1:
            text = str(value.numerator)
        else:
            places = value.denominator.bit_length() - 1
            number = str(value.numerator * 5**places).rjust(places + 1, "0")
            text = number[:-places] + "." + number[-places:]
        if rng.random() < 0.5:
            text += ("" if "." in text else ".") + "0" * rng.randrange(20) + "1"
        return text.encode()

    def extreme(self):
        rng = self.rng
        exponent = rng.choice((300, 308, 309, -308, -320, -324, -325, 4900, 4931, 4933, -4930, -4952, 99999))
        text = "%d.%de%d" % (rng.randrange(10), rng.getrandbits(60), exponent + rng.randrange(-9, 9))
        return text.encode()

    def word(self):
        return self.rng.choice(WORDS)

    def long(self):
        rng = self.rng
        count = rng.choice((127, 128, 129, 200, 400, 5119, 5120, 5121, LONG_DIGITS_MAX))
        text = rng.choice((b"0", b"1", b"9")) * count
        return text if rng.random() < 0.5 else b"0." + text[2:]

    def spoilt(self, text):
        """With a byte that does not belong there, or without one that does."""
        at = self.rng.randrange(len(text) + 1)
        if self.rng.random() < 0.3:
            return text[:at] + text[at + 1 :]
        return text[:at] + self.rng.choice(STRAY) + text[at:]
