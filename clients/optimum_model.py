"""optimum-onnx exports two tiny transformers models of random weights and runs them: labels of sequences, and generated text.

Configurations are made here; nothing is fetched.
"""

import json
import sys
import tempfile

import torch
from optimum.onnxruntime import ORTModelForCausalLM, ORTModelForSequenceClassification
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

WORDS = 200


def exported(model: torch.nn.Module, kind: type, **options: object) -> object:
    """The model exported to a folder and loaded from there."""
    folder = tempfile.mkdtemp()
    model.eval().save_pretrained(folder)
    made = kind.from_pretrained(folder, export=True, **options)
    again = tempfile.mkdtemp()
    made.save_pretrained(again)
    return kind.from_pretrained(again, **options)


def labels() -> list[str]:
    """The label of each of eight sequences by a classifier of four labels."""
    torch.manual_seed(1)
    size = {"hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 128, "vocab_size": WORDS}
    config = BertConfig(**size, num_labels=4, id2label={i: f"label {i}" for i in range(4)}, initializer_range=0.5)
    model = exported(BertForSequenceClassification(config), ORTModelForSequenceClassification)
    ids = torch.randint(0, WORDS, (8, 24))
    mask = (torch.arange(24)[None] < torch.arange(10, 26, 2)[:, None]).long()
    logits = model(input_ids=ids, attention_mask=mask, token_type_ids=torch.zeros_like(ids)).logits
    return [model.config.id2label[int(i)] for i in logits.argmax(-1)]


def tokens() -> list[list[int]]:
    """What a language model with a cache goes on with, for two beginnings."""
    torch.manual_seed(2)
    config = GPT2Config(
        vocab_size=WORDS, n_positions=64, n_embd=48, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0, initializer_range=0.5
    )
    model = exported(GPT2LMHeadModel(config), ORTModelForCausalLM, use_cache=True)
    ids = torch.randint(1, WORDS, (2, 6))
    return model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False, pad_token_id=0).tolist()


def main() -> None:
    """Write {"labels", "tokens"} to the file named on the command line."""
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump({"labels": labels(), "tokens": tokens()}, f)


main()
