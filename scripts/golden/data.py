"""Writes test/fixtures/data: tiny files in the formats that skein/data reads, and their expected.json.

Needs numpy and scipy. Every file is below 20 KB; the same versions write the same bytes. Run: python3 scripts/golden/data.py
"""
import gzip
import io
import json
import pickle
import zipfile
import zlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sp

OUT = Path(__file__).resolve().parents[2] / "test" / "fixtures" / "data"
rng = np.random.default_rng(7)
expected = {"versions": {"numpy": np.__version__, "scipy": scipy.__version__}}


def crc(*arrays):
    value = 0
    for array in arrays:
        value = zlib.crc32(np.ascontiguousarray(array, dtype=np.int32).tobytes(), value)
    return value


def put(path, content):
    path = OUT / path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    assert path.stat().st_size < 20_000, path


def put_gzip(path, text):
    put(path, gzip.compress(text.encode(), mtime=0))


def npy(array, version=(1, 0)):
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def npz(path, arrays, zip64=False, method=zipfile.ZIP_DEFLATED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            info.compress_type = method
            with archive.open(info, "w", force_zip64=zip64) as member:
                member.write(npy(array))
    put(path, buffer.getvalue())


def symmetric(pairs):
    both = {(a, b) for a, b in pairs if a != b} | {(b, a) for a, b in pairs if a != b}
    both = sorted(both)
    return np.array([a for a, _ in both]), np.array([b for _, b in both])


def planetoid():
    """6 training rows, 500 for validation, 4 more; 5 test rows whose ids leave one out, as in CiteSeer."""
    rows, width, classes = 510, 5, 3
    test_ids = np.array([513, 510, 515, 511, 514])  # 512 is missing
    allx = sp.csr_matrix((rng.random((rows, width)) < 0.2).astype(np.float32))
    tx = sp.csr_matrix((rng.random((5, width)) < 0.6).astype(np.float32))
    ally = np.eye(classes, dtype=np.int8)[rng.integers(0, classes, rows)]
    ty = np.eye(classes, dtype=np.int8)[rng.integers(0, classes, 5)]
    graph = defaultdict(list)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 516, (300, 2))] + [(3, 3), (1, 2), (1, 2)]
    for a, b in pairs:
        graph[a].append(b)
        graph[b].append(a)
    parts = {"x": allx[:6], "tx": tx, "allx": allx, "y": ally[:6], "ty": ty, "ally": ally, "graph": graph}
    for protocol, (part, value) in zip([0, 1, 2, 3, 4, 0, 2], parts.items()):
        put(f"planetoid/ind.tiny.{part}", pickle.dumps(value, protocol))
    put("planetoid/ind.tiny.test.index", "".join(f"{i}\n" for i in test_ids).encode())
    labels = np.zeros(516, int)
    labels[:rows] = ally.argmax(1)
    labels[test_ids] = ty.argmax(1)
    dense = np.zeros((516, width))
    dense[:rows] = allx.toarray()
    dense[test_ids] = tx.toarray()
    src, dst = symmetric(pairs)
    expected["planetoid"] = {
        "nodes": 516, "edges": len(src), "features": width, "classes": classes,
        "train": 6, "valid": 500, "test": 5,
        "edgeChecksum": crc(src, dst), "labelChecksum": crc(labels), "featureChecksum": crc(dense),
    }


def shchur():
    n, width = 12, 6
    adjacency = sp.csr_matrix((rng.random((n, n)) < 0.2).astype(np.float32))
    features = sp.csr_matrix(rng.integers(0, 4, (n, width)).astype(np.float32) * (rng.random((n, width)) < 0.5))
    labels = rng.integers(0, 3, n)
    arrays = {}
    for prefix, matrix in (("adj", adjacency), ("attr", features)):
        matrix = sp.csr_matrix(matrix.astype(np.float32))
        arrays |= {
            f"{prefix}_data": matrix.data, f"{prefix}_indices": matrix.indices,
            f"{prefix}_indptr": matrix.indptr, f"{prefix}_shape": np.array(matrix.shape),
        }
    arrays |= {"labels": labels, "class_names": np.array(["red", "grün", "blue"])}
    npz("shchur/tiny.npz", arrays)
    npz("shchur/tiny-zip64.npz", arrays, zip64=True, method=zipfile.ZIP_STORED)
    for what, name, index, value in (
        ("feature", "attr_data", 2, np.nan), ("label", "labels", 3, -1),
        ("column", "adj_indices", 1, n), ("offset", "adj_indptr", 4, 999),
    ):
        bad = dict(arrays)
        bad[name] = bad[name].copy()
        bad[name][index] = value
        npz(f"shchur/bad-{what}.npz", bad)
    src, dst = symmetric(list(zip(*(side.tolist() for side in adjacency.nonzero()))))
    expected["shchur"] = {
        "nodes": n, "edges": len(src), "features": width, "classes": 3,
        "edgeChecksum": crc(src, dst), "labelChecksum": crc(labels), "featureChecksum": crc(features.toarray() > 0),
        "countChecksum": crc(features.toarray()),
    }


def ogb():
    n, width = 9, 4
    edges = rng.integers(0, n, (20, 2))
    features = np.round(rng.normal(size=(n, width)), 4).astype(np.float32)
    labels = rng.integers(0, 3, n)
    order = rng.permutation(n)
    parts = {"train": order[:5], "valid": order[5:7], "test": order[7:]}
    for layout in ("csv", "binary"):
        for part, ids in parts.items():
            put_gzip(f"ogb-{layout}/split/time/{part}.csv.gz", "".join(f"{i}\n" for i in ids))
    put_gzip("ogb-csv/raw/edge.csv.gz", "".join(f"{a},{b}\n" for a, b in edges))
    put_gzip("ogb-csv/raw/node-feat.csv.gz", "".join(",".join(f"{v:.4f}" for v in row) + "\n" for row in features))
    put_gzip("ogb-csv/raw/node-label.csv.gz", "".join(f"{v}\n" for v in labels))
    put_gzip("ogb-csv/raw/num-node-list.csv.gz", f"{n}\n")
    npz("ogb-binary/raw/data.npz", {
        "edge_index": edges.T, "node_feat": features,
        "num_nodes_list": np.array([n]), "num_edges_list": np.array([20]),
    })
    npz("ogb-binary/raw/node-label.npz", {"node_label": labels.astype(np.float32).reshape(n, 1)})
    expected["ogb"] = {
        "nodes": n, "edges": 20, "features": width, "classes": int(labels.max()) + 1,
        "train": 5, "valid": 2, "test": 2,
        "edgeChecksum": crc(edges[:, 0], edges[:, 1]), "labelChecksum": crc(labels),
        "featureChecksum": crc(np.round(features * 10000)),
    }


def numpy_types():
    """One .npy file per element type, byte order, storage order and version."""
    values = np.array([[0, 1, 2], [3, 100, 5]])
    cases = []
    for name in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"):
        for order in "<>":
            cases.append((f"{order}{name}".replace("<", "le-").replace(">", "be-"), values.astype(f"{order}{name}"), (1, 0)))
    cases.append(("fortran", np.asfortranarray(values.astype("<i4")), (1, 0)))
    cases.append(("fortran3", np.asfortranarray(np.arange(24).reshape(2, 3, 4).astype("<i2")), (2, 0)))
    cases.append(("text", np.array(["a", "", "naïve ☃"]), (3, 0)))
    cases.append(("bytes", np.array([b"ab", b"c"]), (1, 0)))
    cases.append(("scalar", np.array(2.5), (2, 0)))
    cases.append(("empty", np.zeros((0, 3), "<f4"), (1, 0)))
    cases.append(("negative", np.array([-1, -(2**53) + 1, 2**40], "<i8"), (1, 0)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array, version in cases:
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), npy(array, version))
    put("types.npz", buffer.getvalue())
    plain = lambda v: v.decode() if isinstance(v, bytes) else (int(v) if isinstance(v, bool) else v)
    expected["types"] = {
        name: {"shape": list(array.shape), "values": [plain(v) for v in array.ravel(order="C").tolist()]}
        for name, array, _ in cases
    }


def pickles():
    """Plain values and arrays under every protocol."""
    value = {"text": "naïve", "list": [1, -2, 3.5, None, True], "big": 2**40, "tuple": (1, (2, 3)),
             "array": np.arange(6, dtype=">i4").reshape(2, 3), "scalar": np.float64(1.5)}
    for protocol in range(5):
        put(f"pickle/protocol-{protocol}.pickle", pickle.dumps(value, protocol))


def matlab():
    values = {
        "double": np.array([[1.5, -2.0, 3.0], [4.0, 5.0, 6.0]]), "int": np.array([[7, -8]], np.int16),
        "cube": np.arange(24, dtype=np.float32).reshape(2, 3, 4), "flag": np.array([[True, False]]),
        "text": "hello", "empty": np.zeros((0, 3)), "cell": np.array([1, "a"], object), "complex": np.array([[1j]]),
        "sparse": sp.csc_matrix(np.array([[0, 2.0, 0], [1.0, 0, 3.0]])), "hollow": sp.csc_matrix((2, 2)),
    }
    for name, compressed in (("plain", False), ("packed", True)):
        buffer = io.BytesIO()
        scipy.io.savemat(buffer, values, do_compression=compressed)
        content = bytearray(buffer.getvalue())
        content[:116] = b"MATLAB 5.0 MAT-file".ljust(116)  # without the date
        put(f"matlab/{name}.mat", bytes(content))


planetoid()
shchur()
ogb()
numpy_types()
pickles()
matlab()
put("expected.json", (json.dumps(expected, indent=1, ensure_ascii=False) + "\n").encode())
