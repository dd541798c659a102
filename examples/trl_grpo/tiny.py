"""A tokenizer and a model made on the spot: nothing is downloaded, and nothing has been learnt."""

import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
OTHERS = ("count", "on", "from", "sort", "ok", "and", "the", "well", "let", "me")
PADDING, END, UNKNOWN = "<pad>", "<eos>", ":"
WORDS = (PADDING, END, UNKNOWN, *NUMBERS, *OTHERS)
WIDTH = 96


def tokenizer() -> PreTrainedTokenizerFast:
    """One token a word; what it does not know becomes `:`."""
    words = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token=UNKNOWN))
    words.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token=PADDING, eos_token=END, unk_token=UNKNOWN, padding_side="left"
    )


def model(seed: int) -> Qwen2ForCausalLM:
    """About 150,000 random weights in two layers."""
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(WORDS),
            hidden_size=WIDTH,
            intermediate_size=2 * WIDTH,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=64,
            tie_word_embeddings=False,
            pad_token_id=WORDS.index(PADDING),
            eos_token_id=WORDS.index(END),
            bos_token_id=None,
        )
    )


def answer(model: Qwen2ForCausalLM, words: PreTrainedTokenizerFast, prompt: str, tokens: int) -> str:
    """What the model says when it always takes the likeliest word."""
    inputs = words(prompt, return_tensors="pt", return_token_type_ids=False)
    output = model.generate(**inputs, max_new_tokens=tokens, do_sample=False)
    return words.decode(output[0][inputs["input_ids"].shape[1] :], skip_special_tokens=True)
