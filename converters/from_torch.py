"""Small PyTorch modules, converted by torch.onnx.export, by its exporter of today (dynamo) and by that of TorchScript.

Every module with batches or lengths that vary is exported with dynamic axes and run on several sizes.
"""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import onnx
import torch
from checks import Converted, main
from torch import Tensor, nn
from torch.nn import functional as F

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
# TorchScript's exporter does not know the fused layers of the encoder.
torch.backends.mha.set_fastpath_enabled(False)

SIZES = ((2, 7), (3, 7), (1, 12))
Axes = dict[int, str]
BATCH: Axes = {0: "batch"}
BOTH: Axes = {0: "batch", 1: "length"}


class ConvNet(nn.Module):
    """Convolutions, plain, grouped and dilated, with batch normalization and pooling; a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(16),
            nn.ReLU6(),
            nn.Conv2d(16, 16, 3, padding=2, dilation=2, groups=16),
            nn.Hardswish(),
            nn.Conv2d(16, 24, 1),
            nn.MaxPool2d(3, 2, 1, ceil_mode=True),
            nn.SiLU(),
        )
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(24, 10), nn.LogSoftmax(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


class UNet(nn.Module):
    """Down and up again: transposed convolution, interpolation, skip connections, group normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(2, 8, 4, 2, 1)
        self.norm = nn.GroupNorm(4, 8)
        self.up = nn.ConvTranspose2d(8, 4, 4, 2, 1)
        self.last = nn.Conv2d(14, 2, 3, padding=1, padding_mode="reflect")

    def forward(self, x: Tensor) -> Tensor:
        low = F.gelu(self.norm(self.down(x)))
        wide = F.interpolate(low, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.last(torch.cat([self.up(low), wide, x], 1))


class Recurrent(nn.Module):
    """Words to labels through a recurrent network; the sequence and the last state."""

    def __init__(self, kind: type[nn.Module], **options: Any) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 12)
        self.net = kind(12, 16, batch_first=True, **options)
        self.head = nn.Linear(32 if options.get("bidirectional") else 16, 5)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        sequence, state = self.net(self.words(ids))
        return self.head(sequence), state[0] if isinstance(state, tuple) else state


class Encoder(nn.Module):
    """A transformer encoder with learned positions and a padding mask."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, 32), nn.Embedding(64, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, activation="gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        return self.layers(x, src_key_padding_mask=ids == 0)


class Decoder(nn.Module):
    """Causal attention written with scaled_dot_product_attention; the next word, its logits and the best three."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.qkv, self.norm = nn.Embedding(50, 32), nn.Linear(32, 96), nn.LayerNorm(32)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        x = self.words(ids)
        q, k, v = (t.view(t.shape[0], -1, 4, 8).transpose(1, 2) for t in self.qkv(self.norm(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        logits = (x + mixed) @ self.words.weight.T
        return logits, logits[:, -1].topk(3).indices


class Shapes(nn.Module):
    """Arithmetic on shapes, slices, gathers, masks, sums along axes: what dynamic axes make hard."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        batch, length = x.shape[0], x.shape[1]
        steps = torch.arange(length, dtype=x.dtype).expand(batch, -1) / length
        halves = torch.cat([x[:, : length // 2], x[:, length // 2 :].flip(1)], 1)
        sorted_x, order = torch.sort(x + steps[:, :, None], 1, descending=True)
        kept = torch.where(sorted_x > 0, sorted_x, torch.zeros_like(sorted_x)).cumsum(1)
        picked = kept.gather(1, order).masked_fill(halves < 0, -1.0)
        return picked.reshape(batch * 2, -1), torch.einsum("bij,bkj->bik", x, halves), order


class Branch(nn.Module):
    """Control flow: which branch is taken depends on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 4), nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda t: torch.relu(self.a(t)), lambda t: torch.tanh(self.b(t)) - 1, (x,))


class Loop(nn.Module):
    """Control flow: how often the body runs, and which branch it takes, depend on the data."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(6, 6)

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        for i in range(int(count)):
            if bool(x.sum() > 0):
                x = torch.tanh(self.step(x)) - 0.1 * i
            else:
                x = x + 1.5
        return x


class Mixed(nn.Module):
    """A little of many operators."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.slope = nn.Conv1d(6, 8, 3, padding=1), nn.PReLU(8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.slope(self.conv(x.transpose(1, 2)))
        y = F.pad(y, (1, 2), value=0.5).clamp(-2, 2) + F.avg_pool1d(F.elu(F.pad(y, (2, 3))), 3, 1)
        y = F.softplus(y).std(-1) + torch.linalg.vector_norm(y, dim=-1) - y.amax(-1).exp().log1p()
        return F.normalize(y, dim=1), y.argmax(1)


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(7, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 4), nn.Softmax(-1))


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor]:
    return (torch.randn(shape).to(dtype),)


def words(batch: int, length: int) -> tuple[Tensor]:
    """Numbers of words [batch, length]; the last two of the first row are padding, 0."""
    ids = torch.randint(1, 50, (batch, length))
    ids[0, -2:] = 0
    return (ids,)


def exported(module: nn.Module, feeds: Sequence[tuple[Tensor, ...]], axes: list[Axes], dynamo: bool = True, opset: int = 18) -> Converted:
    """The module exported with the first feeds, and what it gives for all of them."""
    module = module.eval()
    names = [f"in{i}" for i in range(len(axes))]
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        if dynamo:
            shapes = tuple(dict.fromkeys(a, torch.export.Dim.DYNAMIC) for a in axes)
            options: dict[str, Any] = {"dynamic_shapes": shapes, "external_data": False, "verbose": False}
        else:
            options = {"dynamic_axes": dict(zip(names, axes, strict=True))}
        torch.onnx.export(module, feeds[0], path, input_names=names, dynamo=dynamo, opset_version=opset, **options)
        model = onnx.load(path)
        runs = []
        for feed in feeds:
            result = module(*feed)
            outputs = result if isinstance(result, tuple) else (result,)
            runs.append(({n: array(t) for n, t in zip(names, feed, strict=True)}, [array(t) for t in outputs]))
    return Converted(model, runs)


def array(t: Tensor) -> Any:
    """As numpy's, bfloat16 as ml_dtypes's."""
    if t.dtype == torch.bfloat16:
        import ml_dtypes

        return t.detach().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return t.detach().numpy()


def sequences(make: Callable[[], nn.Module], dynamo: bool, lengths: bool = True) -> Converted:
    """Batches of words; where the exporter makes the length a constant, `lengths` is false and it does not vary."""
    feeds = [words(batch, length if lengths else 7) for batch, length in SIZES]
    return exported(make(), feeds, [BOTH if lengths else BATCH], dynamo)


def pictures(make: Callable[[], nn.Module], channels: int, dynamo: bool, dtype: torch.dtype = torch.float32) -> Converted:
    feeds = [floats(n, channels, h, w, dtype=dtype) for n, h, w in ((2, 32, 32), (1, 24, 40), (3, 16, 16))]
    return exported(make().to(dtype), feeds, [{0: "batch", 2: "height", 3: "width"}], dynamo)


def vectors(make: Callable[[], nn.Module], dynamo: bool, dtype: torch.dtype = torch.float32) -> Converted:
    return exported(make().to(dtype), [floats(n, 7, dtype=dtype) for n in (4, 1, 9)], [BATCH], dynamo)


def series(make: Callable[[], nn.Module], dynamo: bool) -> Converted:
    return exported(make(), [floats(b, 2 * n, 6) for b, n in SIZES], [BOTH], dynamo)


def branch() -> Converted:
    x = torch.randn(5, 6)
    return exported(Branch(), [(x.abs(),), (-x.abs(),)], [BATCH])


def loop() -> Converted:
    x = torch.randn(5, 6)
    feeds = [(x.abs(), torch.tensor(3)), (x, torch.tensor(0)), (-x.abs(), torch.tensor(7))]
    return exported(torch.jit.script(Loop()), feeds, [BATCH, {}], dynamo=False)


MODULES: dict[str, Callable[[bool], Converted]] = {
    "mlp": lambda d: vectors(mlp, d),
    "mlp, float64": lambda d: vectors(mlp, d, torch.float64),
    "mlp, fp16": lambda d: vectors(mlp, d, torch.float16),
    "mlp, bfloat16": lambda d: vectors(mlp, d, torch.bfloat16),
    "conv net": lambda d: pictures(ConvNet, 3, d),
    "conv net, fp16": lambda d: pictures(ConvNet, 3, d, torch.float16),
    "u-net": lambda d: pictures(UNet, 2, d),
    "lstm": lambda d: sequences(lambda: Recurrent(nn.LSTM, num_layers=2, bidirectional=True), d),
    "gru": lambda d: sequences(lambda: Recurrent(nn.GRU, num_layers=2), d),
    "rnn": lambda d: sequences(lambda: Recurrent(nn.RNN, nonlinearity="relu"), d, lengths=not d),
    "transformer encoder": lambda d: sequences(Encoder, d, lengths=d),
    "decoder": lambda d: sequences(Decoder, d),
    "shapes": lambda d: series(Shapes, d),
    "mixed": lambda d: series(Mixed, d),
}


def seeded(make: Callable[..., Converted], *arguments: Any) -> Callable[[], Converted]:
    """The same weights and feeds whichever cases are run."""

    def run() -> Converted:
        torch.manual_seed(0)
        return make(*arguments)

    return run


CASES = {name: seeded(make, True) for name, make in MODULES.items()}
CASES |= {f"{name} (script)": seeded(make, False) for name, make in MODULES.items()}
CASES |= {"branch": seeded(branch), "loop (script)": seeded(loop)}

if __name__ == "__main__":
    main(CASES)
