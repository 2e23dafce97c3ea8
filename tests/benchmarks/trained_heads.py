"""What do heads of SmolLM2 do in ten draws: who copies, who reads the notes, and who tells two names apart?

Two pages show the first of these draws and state what all ten say. Heads are chosen by their scores on the
three random texts of the page, none of which is drawn. Each draw has random tokens and a sentence, both read
twice, and a control of its own: as many other heads of the same layers. What is copied is the share of
tokens, on the second reading, for which the best guess is right. The notes of layer 16, head 0 are hidden
from one key each of layers 17 and 18, or from all values or queries that belong to them. As controls, two
wires are cut of the other head that was drawn, and those of all other previous-token heads (score above a
half) in earlier layers, at once. A forged note is what the head would write if all of its weight lay on the
token before, on the token itself, or on the one two places back, once as weak as it really writes it; notes
from embeddings are made of the bare tokens. Then, the mean weight of the five best induction heads is
measured after earlier copies of a token, one place further, and one place too near. The loss is that of the
sentence at its first reading, in nats. For names, each draw has a sentence with an ending of its own; the
preference is by how much the logit of the right name exceeds that of the other.
"""

from contextlib import ExitStack
from functools import partial

import torch
from torch.nn.functional import cross_entropy, pad

import literate_attention as la

WRITER, KEYS = (16, 0), [(17, 1), (18, 2)]
READERS = [(layer, 3 * kv_head + head) for layer, kv_head in KEYS for head in range(3)]
EARLY = [(1, head) for head in range(8)]
MOVER = (23, 3)
PEOPLE = ("Tom", "Anna", "Paul", "Lucy", "Peter", "Sarah", "David", "Emma")
ENDINGS = (
    "went to the park, {} gave the ball to",
    "came to the school, {} gave a book to",
    "met at the beach, {} gave a letter to",
    "sat in the kitchen, {} gave an apple to",
    "waited for the bus, {} gave the tickets to",
    "walked in the snow, {} gave a scarf to",
    "played in the garden, {} gave the kite to",
    "worked at the office, {} gave the keys to",
    "stood on the bridge, {} gave a coin to",
    "talked in the hall, {} gave a flower to",
)


def measure():
    """Draw ten times for each of the two tasks."""
    torch.set_num_threads(1)
    model, tokenizer = la.load_smollm2("cpu")
    model.requires_grad_(False)
    heads = choose_heads(model)
    return {
        "heads": heads,
        "copying": drawn(lambda *draw: copied(model, tokenizer, heads, *draw), la.SENTENCES, 1000),
        "names": drawn(lambda *draw: names_told(model, tokenizer, *draw), ENDINGS, 2000),
    }


def drawn(find, texts, seed):
    """Return what ten draws find, each number by its name."""
    draws = []
    for place, text in enumerate(texts):
        draws.append(find(text, torch.Generator().manual_seed(seed + place)))
        print(draws[-1], flush=True)
    return {name: [round(draw[name], 4) for draw in draws] for name in draws[0]}


def random_tokens(length, generator):
    """Return tokens that nobody could guess."""
    return torch.randint(1000, 20_000, (length,), generator=generator)


def choose_heads(model):
    """Return the heads of each kind, as the page chooses them."""
    generator = torch.Generator().manual_seed(123)
    texts = [random_tokens(length, generator).repeat(2) for length in (18, 26, 34)]
    maps = [la.attention_maps(model, text) for text in texts]

    def scores(find_targets):
        pairs = zip(maps, texts, strict=True)
        return sum(la.head_scores(one, find_targets(text)) for one, text in pairs) / 3

    previous = scores(lambda text: la.previous_token_targets(len(text)))
    first = scores(lambda text: la.first_token_targets(len(text)))
    return {
        "induction": la.top_heads(scores(la.induction_targets), 8),
        "first token": la.top_heads(first, 8),
        "previous token": la.top_heads(previous, int((previous > 0.5).sum())),
    }


def copied(model, tokenizer, heads, sentence, generator):
    """Return what is copied of random tokens and of a sentence, without heads and with forged notes."""
    once = torch.tensor(tokenizer.encode(sentence))
    noise = random_tokens(len(once), generator)
    both = torch.stack([noise, once]).repeat(1, 2)
    eight_others = la.other_heads(heads["induction"], 9, generator)
    (another,) = la.other_heads([WRITER], 9, generator)
    previous = heads["previous token"][1:]
    off, cut = partial(la.ablate_heads, model), partial(la.path_patch, model)
    guessed = model(once)[:-1].argmax(dim=-1)
    found = {"words, first reading": (guessed == once[1:]).float().mean().item()}

    def keep(name, *changes):
        with ExitStack() as changed:
            for change in changes:
                changed.enter_context(change)
            right, _ = la.copy_predictions(model, both)
        found[f"random, {name}"], found[f"words, {name}"] = right.float().mean(dim=-1).tolist()

    keep("all heads")
    keep("without the best eight", off(heads["induction"]))
    keep("without eight others of these layers", off(eight_others))
    keep("without the eight that look most at the first token", off(heads["first token"]))
    keep("without layer 16, head 0", off([WRITER]))
    keep("without another head of layer 16", off([another]))
    for layer, head in previous:
        keep(f"without layer {layer}, head {head}", off([(layer, head)]))
    for name, heads_off in {
        "all heads": [],
        "without the best eight": heads["induction"],
        "without layer 16, head 0": [WRITER],
        "without eight early heads": EARLY,
    }.items():
        with off(heads_off):
            found[f"loss, {name}"] = cross_entropy(model(once)[:-1], once[1:]).item()

    keep("its two wires cut", cut({WRITER: KEYS}))
    keep("only these two left", cut({WRITER: KEYS}, lambda output: 2 * output), off([WRITER]))
    keep("another head's two wires cut", cut({another: KEYS}))
    earlier = [head for head in previous if head[0] < KEYS[0][0]]
    keep("the wires of all other previous-token heads cut", cut(dict.fromkeys(earlier, KEYS)))
    keep("hidden from the values", cut({WRITER: KEYS}, part="value"))
    keep("hidden from the queries", cut({WRITER: READERS}, part="query"))
    return found | forged(model, both, heads["induction"][:5])


def forged(model, both, best):
    """Return what is copied, and where the best induction heads look, if two keys read forged notes."""
    circuit = la.ov_circuit(model, *WRITER)
    stream = la.residual_stream(model, both)[:, WRITER[0]]
    weight = la.attention_maps(model, both)[:, *WRITER]
    seen = pad(weight.diagonal(-1, -2, -1), (1, 0)).unsqueeze(-1)
    after = la.induction_targets(both)
    places = {
        "after a copy": after,
        "one too far": shifted(after, 1) & ~after,
        "one too near": shifted(after, -1) & ~after,
    }
    found = {}

    def keep(name, note=None):
        replacement = (lambda output: output) if note is None else (lambda output: note)
        with la.path_patch(model, {WRITER: KEYS}, replacement):
            right, _ = la.copy_predictions(model, both)
            maps = la.attention_maps(model, both)
        for row, kind in enumerate(("random", "words")):
            found[f"{kind}, {name}"] = right[row].float().mean().item()
            for place, wanted in places.items():
                scores = la.head_scores(maps, wanted)[row]
                looks = sum(scores[layer, head].item() for layer, head in best)
                found[f"{kind}, {name}, looks {place}"] = looks / len(best)

    keep("notes as they are")
    for back, named in enumerate(("itself", "the one before", "the one two back")):
        keep(f"forged notes naming {named}", note_of(stream, circuit, back))
    keep("forged as weak as written", note_of(stream, circuit, 1) * seen)
    keep("forged from embeddings", note_of(model.token_embedding(both), circuit, 1))
    return found


def note_of(vectors, circuit, back):
    """Return what a head would write that looks so many places back, and nowhere else."""
    size = vectors.square().mean(dim=-1, keepdim=True).add(1e-5).sqrt()
    note = (vectors / size @ circuit).roll(back, dims=-2)
    note[..., :back, :] = 0
    return note


def shifted(targets, places):
    """Return the places that lie so many columns after the targets, and none in the future."""
    moved = targets.roll(places, dims=-1)
    moved[..., :1] = moved[..., :1] & (places < 0)
    return moved.tril()


def names_told(model, tokenizer, ending, generator):
    """Return how much the model prefers the right name, and how probable both are, without one head."""
    first, second = (PEOPLE[at] for at in torch.randperm(8, generator=generator)[:2])
    giver, taker = (first, second) if torch.rand(1, generator=generator) < 0.5 else (second, first)
    text = torch.tensor(tokenizer.encode(f"When {first} and {second} {ending.format(giver)}"))
    found = {}
    for what, heads in {
        "all heads": [],
        "without 23/3": [MOVER],
        "without another head": la.other_heads([MOVER], 9, generator),
    }.items():
        with la.ablate_heads(model, heads):
            said = model(text)[-1].log_softmax(dim=-1)
        right, wrong = (said[tokenizer.encode(f" {name}")[0]].item() for name in (taker, giver))
        found |= {what: right - wrong, f"{what}, right name": right, f"{what}, wrong name": wrong}
    return found
