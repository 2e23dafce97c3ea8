"""Docstrings as plain text: what Sphinx would set, as it is read in an editor."""

import re
import unicodedata

SYMBOLS = {
    **dict.fromkeys(["left", "right", "bigl", "bigr", "Bigl", "Bigr", "!"], ""),
    **dict.fromkeys([",", ";", ":", " "], " "),
    "quad": "  ",
    "qquad": "\n",
    "dots": "...",
    "cdots": "...",
    "top": "T",
    "cdot": "·",
    "times": "\N{MULTIPLICATION SIGN}",
    "odot": "⊙",
    "sum": "Σ",
    "infty": "∞",
    "le": "≤",
    "ge": "≥",
    "to": "→",
    "wedge": "and",
    "vee": "or",
    "langle": "⟨",
    "rangle": "⟩",
    "lambda": "λ",  # which Unicode spells lamda
}
"""What commands of TeX look like, beside those that are names of Greek letters."""


def plain_text(text: str) -> str:
    """Write a paragraph of reStructuredText on one line, without roles, citations and formulas."""
    text = re.sub(r"\s*:cite:p:`[^`]*`", "", text)
    text = re.sub(r":math:`([^`]*)`", lambda formula: plain_formula(formula[1]), text)
    text = re.sub(r":[a-z]+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return " ".join(text.replace("``", "`").split())


def plain_formula(tex: str) -> str:
    """Write a formula on one line, or on as many as there are equations in it."""
    lines = Formula(tex).read().split("\n")
    return "\n".join(tidy(line) for line in lines if line.strip())


def tidy(line: str) -> str:
    """Take out the blanks that TeX would not set."""
    return re.sub(r"(?<=[(\[⟨]) | (?=[)\]⟩,;])", "", " ".join(line.split()))


def in_brackets(text: str, signs: str) -> str:
    """Put brackets around what has one of some signs outside of brackets."""
    outside = re.sub(r"\([^()]*\)", "", text)
    return f"({text})" if any(sign in outside for sign in signs) else text


def with_script(text: str, sign: str, script: str) -> str:
    """Put a subscript or a power behind what was written last."""
    if sign == "^" and re.search(r"(?<!\w)e$", text):
        return f"{text[:-1]}exp({script})"
    return (
        f"{text}{sign}{script}" if re.fullmatch(r"[^\W_]+", script) else f"{text}{sign}({script})"
    )


def greek(name: str) -> str:
    """Return a Greek letter by its name, and any other name as it is."""
    size = "SMALL" if name.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name}")
    except KeyError:
        return name


class Formula:
    """Reads TeX, as much of it as stands in docstrings.

    Args:
        tex: the formula.
    """

    def __init__(self, tex: str) -> None:
        self.tokens = re.findall(r"\\[a-zA-Z]+|\\.|\s+|.", tex, re.DOTALL)

    def read(self, end: str = "") -> str:
        """Write all up to a token that ends it, which is left out."""
        text = ""
        while self.tokens and (token := self.tokens.pop(0)) != end:
            if token in ("_", "^"):
                text = with_script(text, token, self.argument())
            else:
                written = self.write(token)
                joins = text[-1:].isalpha() and written[:1].isalpha() and token.startswith("\\")
                text += f" {written}" if joins else written
        return text

    def argument(self) -> str:
        """Write what a command is given: a group or one token."""
        while (token := self.tokens.pop(0)).isspace():
            pass
        return tidy(self.write(token))

    def write(self, token: str) -> str:
        """Write a token, and what belongs to it."""
        command = token.removeprefix("\\")
        if token == "{":
            return self.read("}")
        if token == command:
            return " " if token.isspace() else token
        if command == "frac":
            above, below = self.argument(), self.argument()
            if above.isalnum() and below.isalnum():
                return f"{above}/{below}"
            return f"{in_brackets(above, '+-')} / {in_brackets(below, ' +-/')}"
        if command == "sqrt":
            return f"√{in_brackets(self.argument(), ' +-/')}"
        if command in ("text", "operatorname"):
            return self.argument()
        if command == "begin":
            return self.table(self.argument())
        return SYMBOLS[command] if command in SYMBOLS else greek(command)

    def table(self, kind: str) -> str:
        """Write the cases of a definition, or a matrix."""
        rows = self.read("\\end").split("\\")
        self.argument()
        cells = [[tidy(cell) for cell in row.split("&")] for row in rows]
        if kind != "cases":
            return "[" + "; ".join(", ".join(row) for row in cells) + "]"
        conditions = (
            (value, condition if condition.startswith(("if", "else")) else f"if {condition}")
            for value, condition in cells
        )
        return "{ " + "; ".join(map(" ".join, conditions)) + " }"
