"""Docstrings as plain text: what Sphinx would set, as it is read in an editor."""

import re
import unicodedata

SYMBOLS = {
    "qquad": "\n",
    "dots": "...",
    "cdots": "...",
    "top": "T",
    "cdot": "·",
    "odot": "⊙",
    "sum": "Σ",
    "infty": "∞",
    "le": "≤",
    "to": "→",
    "wedge": "and",
    "vee": "or",
    "langle": "⟨",
    "rangle": "⟩",
    "lambda": "λ",  # which Unicode spells lamda
}
"""What commands of TeX look like, beside those that are names of Greek letters."""

FROM_THE_INSIDE = (
    (r"\\(?:text|operatorname)\{([^{}]*)\}", r"\1"),
    (r"\\sqrt\{([^{}]*)\}", r"√(\1)"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", lambda found: fraction(found[1], found[2])),
    (r"([_^])\{([^\W_]+)\}", r"\1\2"),
    (r"([_^])\{([^{}]*)\}", r"\1(\2)"),
)
"""What takes a group, and how it is written if no other group is inside."""

AT_LAST = (
    (r"(?<=[a-z])\\(?=[a-z])", r" \\"),
    (r"\\([a-zA-Z]+)", lambda found: SYMBOLS.get(found[1]) or greek(found[1])),
    (r"([(\[⟨]) +| +([)\]⟩,;])", r"\1\2"),
    (r"(?<!\w)e\^\(", "exp("),
    (r"([_^])\(([^\W_]+)\)|(√)\((\w+)\)", r"\1\2\3\4"),
    (r" *\n *", "\n"),
    (r"  +", " "),
)


def plain_text(text: str) -> str:
    """Write a paragraph of reStructuredText on one line, without roles, citations and formulas."""
    text = re.sub(r"\s*:cite:p:`[^`]*`", "", text)
    text = re.sub(r":math:`([^`]*)`", lambda formula: plain_formula(formula[1]), text)
    text = re.sub(r":[a-z]+:`~?(?:[\w.]+\.)?(\w+)`", r"`\1`", text)
    return " ".join(text.replace("``", "`").split())


def plain_formula(tex: str) -> str:
    """Write a formula on one line, or on as many as there are equations in it."""
    text = re.sub(r"\\(?:left|right|[bB]ig[lr])|\\!", "", " ".join(tex.split()))
    text = re.sub(r"\\begin\{(\w+)\}(.*?)\\end\{\w+\}", table, re.sub(r"\\[,;]", " ", text))
    before = ""
    while before != text:
        before = text
        for pattern, plain in FROM_THE_INSIDE:
            text = re.sub(pattern, plain, text)
    for pattern, written in AT_LAST:
        text = re.sub(pattern, written, text)
    return text.strip()


def table(found: "re.Match[str]") -> str:
    """Write the cases of a definition, or a matrix."""
    rows = [[cell.strip() for cell in row.split("&")] for row in found[2].split(r"\\")]
    if found[1] != "cases":
        return "[" + "; ".join(map(", ".join, rows)) + "]"
    return "; ".join(
        f"{value} {condition if re.match(r'.text.(if|else)', condition) else f'if {condition}'}"
        for value, condition in rows
    )


def fraction(above: str, below: str) -> str:
    """Write a fraction on one line, with brackets where something has to be computed first."""
    if above.isalnum() and below.isalnum():
        return f"{above}/{below}"
    return f"{in_brackets(above, '+-')} / {in_brackets(below, ' +-/')}"


def in_brackets(text: str, signs: str) -> str:
    """Put brackets around what has one of some signs outside of brackets."""
    outside = re.sub(r"\([^()]*\)", "", text)
    return f"({text})" if any(sign in outside for sign in signs) else text


def greek(name: str) -> str:
    """Return a Greek letter by its name, and any other name as it is."""
    size = "SMALL" if name.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name}")
    except KeyError:
        return name
