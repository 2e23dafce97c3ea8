"""Checks: what an induction head computes."""

from literate_attention.workshop.judge.verdict import RIGHT, Verdict, judge_result, result_of, wrong

TEXT = [7, 1, 4, 8, 1, 6, 9, 2, 1]
"""The last token came twice before; what it followed, what followed it and where all differ."""


def check_successor(answer: object) -> Verdict:
    """Check a function that names the next token as an induction head does.

    Args:
        answer: your function; it is called with a list of tokens, and returns what came after the last token
            when it was there before, or None if it never was.

    Example:
        >>> check_successor(lambda tokens: tokens[tokens.index(tokens[-1]) + 1])
        Not yet. This came after the first copy of the token; the latest is asked for.
    """
    result = result_of(answer, list(TEXT))
    if result is None:
        return wrong(f"it finds nothing in {TEXT}, although {TEXT[-1]} was there before")
    mistakes = {
        "this came after the first copy of the token; the latest is asked for": 4,
        "this came before the copy, not after it": 8,
        "this is the token itself, not what came after it": 1,
        "this is the place of the answer; the token that stands there is asked for": 5,
    }
    verdict = judge_result(result, 6, mistakes.items())
    if not verdict:
        return verdict
    never = result_of(answer, [2, 7, 1])
    if isinstance(never, Verdict):
        return never
    return (
        RIGHT
        if never is None
        else wrong("of a token that was never there before, it says more than None")
    )
