"""Train the classifier that `sardonyx demo` runs, and write it with ten pictures it was not trained on.

    pip install torch scikit-learn onnx
    python examples/digits/train.py core/src/sardonyx/cli/data

The data are scikit-learn's digits: 1,797 pictures of 8 x 8 pixels from 0 (white) to 16 (black). About a minute on one core.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

EPOCHS = 60
DESCRIPTION = "Handwritten digits of 8 x 8 pixels (0 white .. 16 black) to probabilities of the digits 0 to 9"
LICENCE = "Apache-2.0; trained on 'Optical Recognition of Handwritten Digits' (Alpaydin, Kaynak 1998), CC BY 4.0"


def net() -> nn.Sequential:
    """Three convolutions and two dense layers: about 31,000 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )


def train(x: torch.Tensor, y: torch.Tensor) -> nn.Sequential:
    """The net, trained on pictures x (n, 1, 8, 8) scaled to 0..1 and digits y (n); each batch is shifted by up to a pixel."""
    torch.manual_seed(0)
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), 2e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(x)).split(64):
            top, left = torch.randint(0, 3, (2,)).tolist()
            moved = nn.functional.pad(x[rows], (1, 1, 1, 1))[:, :, top : top + 8, left : left + 8]
            loss = nn.functional.cross_entropy(model(moved), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
    return model.eval()


def export(model: nn.Sequential) -> onnx.ModelProto:
    """The trained net as ONNX: input `image` (batch, 1, 8, 8), output `probabilities` (batch, 10)."""
    weights = {k: v.detach().numpy() for k, v in model.state_dict().items()}
    nodes, at = [helper.make_node("Div", ["image", "scale"], ["pixels"], name="scale_pixels")], "pixels"
    for i, layer in enumerate(model):
        name, given = f"{type(layer).__name__.lower()}_{i}", [at]
        if isinstance(layer, (nn.Conv2d, nn.Linear)):
            given += [f"{i}.weight", f"{i}.bias"]
        op, attributes = {
            nn.Conv2d: ("Conv", {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
            nn.Linear: ("Gemm", {"transB": 1}),
            nn.MaxPool2d: ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
            nn.ReLU: ("Relu", {}),
            nn.Flatten: ("Flatten", {}),
        }[type(layer)]
        at = "logits" if i == len(model) - 1 else f"{name}_out"
        nodes.append(helper.make_node(op, given, [at], name=name, **attributes))
    nodes.append(helper.make_node("Softmax", [at], ["probabilities"], name="softmax", axis=-1))
    graph = helper.make_graph(
        nodes,
        "digits",
        [helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, ["batch", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", onnx.TensorProto.FLOAT, ["batch", 10])],
        [numpy_helper.from_array(np.float32(16), "scale"), *(numpy_helper.from_array(v, k) for k, v in weights.items())],
        doc_string=DESCRIPTION,
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name="sardonyx examples/digits")
    proto.doc_string = DESCRIPTION
    helper.set_model_props(proto, {"licence": LICENCE})
    onnx.checker.check_model(proto, full_check=True)
    return proto


def main(folder: Path) -> None:
    """Train, say how many unseen pictures come out right, and write digits.onnx and digits.npz."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 1, 8, 8).astype(np.float32)
    x, unseen_x, y, unseen_y = train_test_split(images, labels, test_size=0.2, random_state=0, stratify=labels)
    model = train(torch.from_numpy(x) / 16, torch.from_numpy(y))
    with torch.no_grad():
        answers = model(torch.from_numpy(unseen_x) / 16).argmax(1).numpy()
    print(f"{(answers == unseen_y).mean():.1%} of {len(unseen_y)} unseen pictures are right")
    onnx.save(export(model), folder / "digits.onnx")
    chosen = [int(np.flatnonzero(unseen_y == digit)[0]) for digit in range(10)]
    np.savez_compressed(folder / "digits.npz", image=unseen_x[chosen, 0].astype(np.uint8), label=unseen_y[chosen].astype(np.uint8))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
