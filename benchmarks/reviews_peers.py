"""MiniLM in transformers with the lab's head: the mean over tokens, dropout, a linear layer.

Source: the homework's loop: zero_grad, loss, backward, step; gradients clipped and AdamW as in the lab.
"""

import itertools
from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from transformers import BertModel
from transformers.utils import logging

from attnlab_theory.language.corpora.labelled_batches import LabelledBatch
from attnlab_theory.language.models.classifier import Classifier
from attnlab_theory.language.pretrained import minilm_folder
from benchmarks.machine import cores


class Model(nn.Module):
    """Tokens and mask to the logits of two labels."""

    def __init__(self, ours: Classifier):
        super().__init__()
        logging.set_verbosity_error()  # the pooler, which the head does without, is no news
        logging.disable_progress_bar()
        self.encoder = BertModel.from_pretrained(minilm_folder(), add_pooling_layer=False)
        self.drop, self.out = nn.Dropout(ours.config.dropout), nn.Linear(ours.config.encoder.width, 2)
        with torch.no_grad():
            self.out.weight.copy_(torch.from_numpy(np.array(ours.out.weight).T))
            self.out.bias.copy_(torch.from_numpy(np.array(ours.out.bias)))

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """The logits."""
        hidden = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        seen = mask[:, :, None].to(hidden.dtype)
        return self.out(self.drop((hidden * seen).sum(1) / seen.sum(1)))


def steps(
    name: str, ours: Classifier, batches: Sequence[LabelledBatch], *, rate: float, decay: float, clip: float
) -> Callable[[], float]:
    """A callable that makes one step with the next of the batches.

    Args:
        name: which of torch's AdamW.
        ours: whose weights the head begins with.
        batches: taken in turn, without end.
        rate: of learning.
        decay: of weights with two axes.
        clip: the largest norm of a gradient.
    """
    fused = {"transformers": False, "transformers, fused AdamW": True}[name]
    torch.set_num_threads(cores())
    torch.manual_seed(0)
    model = Model(ours).train()
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, fused=fused)
    labels = [torch.from_numpy(np.array(batch.labels)).long() for batch in batches]
    read = itertools.cycle([(*_inputs(batch), each) for batch, each in zip(batches, labels, strict=True)])

    def step() -> float:
        tokens, mask, labels = next(read)
        loss = functional.cross_entropy(model(tokens, mask), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        # Here, not first: gradients are no memory that is kept from step to step.
        optimizer.zero_grad(set_to_none=True)
        return loss.item()

    return step


def asking(ours: Classifier) -> Callable[[LabelledBatch], np.ndarray]:
    """A callable from a batch to the log-odds of label 1, in evaluation mode and without gradients."""
    torch.set_num_threads(cores())
    model = Model(ours).eval()

    def ask(batch: LabelledBatch) -> np.ndarray:
        with torch.inference_mode():
            logits = model(*_inputs(batch)).double().numpy()
        return logits[:, 1] - logits[:, 0]

    return ask


def _inputs(batch: LabelledBatch) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(np.array(batch.tokens)).long(), torch.from_numpy(np.array(batch.mask)).long()
