"""The model that learns to copy, trained as its page trains it, from other seeds, and its circuit."""

import torch
from torch import nn

import literate_attention as la

WEIGHT_OF_THOSE_THAT_COPY = 0.2
"""Halfway between what the first head's weights say in the first ten seeds, where the training copies and
where it does not. It was fixed before the next ten seeds were trained."""

LENGTHS_SHOWN = (10, 13, 16)


def copier(seed, *, num_steps, every, embed_dim=32, num_layers=2, num_heads=1):
    """Train as the page does."""
    torch.manual_seed(seed)
    model = la.attention_only_model(26, embed_dim, num_layers, num_heads=num_heads)
    checkpoints = la.train_to_copy(model, num_steps, every=every, seed=seed)
    return model, checkpoints


def mixed_rows():
    """Return 32 rows for each length of a block in training."""
    generator = torch.Generator().manual_seed(1000)
    return [la.repeated_blocks(32, 2 * n, 26, n, n, generator) for n in range(10, 17)]


def copies_mixed(model):
    """Return the share of letters that are copied, over all lengths of a block in training."""
    return round(sum(la.copy_accuracy(model, rows) for rows in mixed_rows()) / 7, 3)


def letters_of(model):
    """Return the embeddings, as a first norm leaves them but for its weight."""
    letters = model.token_embedding.weight.detach()
    return letters / letters.square().mean(dim=-1, keepdim=True).sqrt()


def weight_before(model):
    """Read from the first head's weights how much it looks at the token before, whatever the letters."""
    letters = letters_of(model)
    circuits = torch.stack([la.qk_circuit(model, 0, 0, distance) for distance in range(32)])
    scores = (letters @ circuits @ letters.T).mean(dim=(1, 2))
    return round(scores.softmax(dim=0)[1].item(), 3)


def copies_with_notes(model, back):
    """Let the second head's keys read a note on the letter so many places back, and nothing else.

    Such notes are made of the embeddings and the first head's weights, as if it looked nowhere else.
    """
    return copies_if_given(model, lambda rows: notes_on(model, rows, back))


def copies_with_written(model, *backs):
    """Let the keys read the notes on the letters so many places back, as loud as they are written."""
    return copies_if_given(model, lambda rows: written(model, rows, backs))


def copies_without_written(model, back):
    """Let the keys read all that the first head writes but its note on the letter so many places back."""
    return copies_if_given(model, lambda rows: -written(model, rows, [back]), keep=1)


@torch.no_grad()
def copies_if_given(model, find_notes, keep=0):
    """Return the share of letters that are copied if the second head's keys read notes.

    They read them in the place of what the first head writes, or, with `keep` at one, beside it.
    """
    shares = []
    for rows in mixed_rows():
        notes = find_notes(rows)
        with la.path_patch(
            model, {(0, 0): [(1, 0)]}, lambda said, notes=notes: keep * said + notes
        ):
            shares.append(la.copy_accuracy(model, rows))
    return round(sum(shares) / len(shares), 3)


def written(model, rows, backs):
    """Return the sum of the notes on the letters so many places back, as loud as they are written."""
    looks = la.attention_maps(model, rows)[:, 0, 0]
    found = []
    for back in backs:
        loud = nn.functional.pad(looks.diagonal(-back, -2, -1), (back, 0))
        found.append(notes_on(model, rows, back) * loud.unsqueeze(-1))
    return torch.stack(found).sum(dim=0)


def notes_on(model, rows, back):
    """Return what the first head would write if it looked at nothing but the letter so many places back."""
    notes = (letters_of(model) @ la.ov_circuit(model, 0, 0))[rows].roll(back, dims=1)
    notes[:, :back] = 0.0
    return notes


@torch.no_grad()
def looks_back(model):
    """Return the first head's weight on the letter itself, on the one before, and so on up to five back."""
    maps = torch.cat([la.attention_maps(model, rows)[:, 0, 0, 9:20, :20] for rows in mixed_rows()])
    return [round(maps.diagonal(9 - back, -2, -1).mean().item(), 3) for back in range(6)]


@torch.no_grad()
def looks_after_copy(model):
    """Return the second head's weight on the copy, on what followed it, and so on up to six, by length."""
    lengths = {rows.shape[1] // 2: rows for rows in mixed_rows()}
    return {length: looks_so_far_back(model, lengths[length], length) for length in LENGTHS_SHOWN}


@torch.no_grad()
def looks_without_copy(model):
    """Return its weight from the same places at the same distances in rows of 26 different letters."""
    rows = la.repeated_blocks(32, 26, 26, 26, 26, torch.Generator().manual_seed(1000))
    return {length: looks_so_far_back(model, rows, length) for length in LENGTHS_SHOWN}


def looks_so_far_back(model, rows, length):
    """Return the second head's weight on what stands so many places back, and on the six places after it.

    It looks from the second block of a row, up to place 25.
    """
    maps = la.attention_maps(model, rows)[:, 1, 0, : min(2 * length, 26)]
    return [
        round(maps.diagonal(after - length, -2, -1)[:, after:].mean().item(), 3)
        for after in range(7)
    ]
