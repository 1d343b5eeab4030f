"""Writes test/fixtures/data/torch/*.pt: small tensors as PyTorch saves them, for the reader of these files."""
import sys
from pathlib import Path

import torch

folder = Path(__file__).parents[2] / "test/fixtures/data/torch"
folder.mkdir(parents=True, exist_ok=True)
matrix = torch.arange(8, dtype=torch.float32).reshape(4, 2) / 4
cases = {
    "float": matrix,
    "double": matrix.double(),
    "half": matrix.half(),
    "long": matrix.mul(4).long(),
    "bool": matrix > 0.6,
    "rows": matrix[1:3],  # a slice of a larger storage
    "turned": matrix.t(),  # strides that are not those of C order
    "parameter": {"weight": matrix},
    "brain": matrix.bfloat16(),
}
for name, value in cases.items():
    torch.save(value, folder / f"{name}.pt")
torch.save(matrix, folder / "legacy.pt", _use_new_zipfile_serialization=False)
print(f"torch {torch.__version__}, python {sys.version.split()[0]}")
