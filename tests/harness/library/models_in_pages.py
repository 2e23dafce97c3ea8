"""A model that reads in a page, beside the library's."""

import base64

import torch

import literate_attention as la

READ = (
    "([model, tokens, ...without]) => literateParts.languageModel.read(model, tokens, ...without)"
)


@torch.no_grad()
def found_by(model, tokens, silent=()):
    """Return the maps of all heads, and how probable each next token is, while some heads are off."""
    with la.ablate_heads(model, silent):
        return la.attention_maps(model, tokens), model(tokens).softmax(dim=-1)


def assert_reads(got, model, tokens, silent=()) -> None:
    """The page has found in the tokens what the library's model finds in them, to 1e-5."""
    maps, following = found_by(model, tokens, silent)
    padded = [
        [[row + [0.0] * (len(tokens) - len(row)) for row in one] for one in layer]
        for layer in got["maps"]
    ]
    torch.testing.assert_close(torch.tensor(padded).double(), maps, rtol=0, atol=1e-5)
    torch.testing.assert_close(torch.tensor(got["next"]).double(), following, rtol=0, atol=1e-5)


def unpacked(packed, shapes, kind):
    """Return weights by their names, from whole numbers and a factor for each row, by other means."""

    def numbers(name, kind):
        return torch.frombuffer(bytearray(base64.b64decode(packed[name])), dtype=kind).double()

    factors = numbers("factors", torch.float32)
    sizes = [torch.Size(shape).numel() for shape in shapes.values()]
    parts = zip(shapes.items(), numbers("numbers", kind).split(sizes), strict=True)
    weights = {}
    for (name, shape), whole in parts:
        rows = torch.Size(shape[:-1]).numel()
        weights[name] = (whole.reshape(rows, -1) * factors[:rows, None]).reshape(shape)
        factors = factors[rows:]
    assert len(factors) == 0
    return weights
