"""A tokenizer learnt from the texts at hand and models with random weights: nothing is downloaded."""

from collections.abc import Iterable
from typing import Any

import torch
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2ForSequenceClassification,
)

PADDING, END = "<pad>", "<eos>"
ROLES = ("<system>", "<user>", "<assistant>")
VOCABULARY = 1_000
WIDTH = 64
CHAT = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}<eos>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Byte-level pairs, so that it knows every text; with a chat template for conversations."""
    pairs = Tokenizer(BPE())
    pairs.pre_tokenizer, pairs.decoder = ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    trainer = BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[PADDING, END, *ROLES],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    pairs.train_from_iterator(texts, trainer)
    fast_tokenizer = PreTrainedTokenizerFast(tokenizer_object=pairs, pad_token=PADDING, eos_token=END)
    fast_tokenizer.chat_template = CHAT
    return fast_tokenizer


def language_model(words: PreTrainedTokenizerFast, seed: int) -> Qwen2ForCausalLM:
    """About 200,000 random weights in two layers."""
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(_config(words))


def reward_model(words: PreTrainedTokenizerFast, seed: int) -> Qwen2ForSequenceClassification:
    """The same with one number at its end in place of the next word."""
    torch.manual_seed(seed)
    return Qwen2ForSequenceClassification(_config(words, num_labels=1))


def _config(words: PreTrainedTokenizerFast, **more: Any) -> Qwen2Config:
    return Qwen2Config(
        vocab_size=len(words),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=1024,
        pad_token_id=words.pad_token_id,
        eos_token_id=words.eos_token_id,
        bos_token_id=None,
        **more,
    )
