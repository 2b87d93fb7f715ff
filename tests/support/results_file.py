"""Makes a results.h5 as the program does, from a table of trials and their curves."""

import hashlib
import pathlib

import h5py
import numpy as np

TEXT = h5py.string_dtype("utf-8")


def write_results(path, trials, curves):
    """trials: a list of dicts of columns (id, status, keys of the configuration, provenance.*). curves: name to
    values (trial, epoch[, relative_length]) or (values, names of their dimensions), NaN where there is no value;
    relative lengths are 1 and 2, case lengths 1 and .5, cases of a task t first and last."""
    with h5py.File(path, "w") as file:
        epochs = curves["train_accuracy"].shape[1]
        scales = {"trial": np.arange(len(trials), dtype="i4"), "epoch": np.arange(1, epochs + 1, dtype="i4"),
                  "relative_length": np.array([1.0, 2.0])}
        if "case_correct_t" in curves:
            scales |= {"case_length": np.array([1, 0.5]), "case_t": np.array(["first", "last"], dtype=object)}
        for name, values in scales.items():
            _variable(file, name, values).make_scale(name)
        for name in dict.fromkeys(key for trial in trials for key in trial):
            column = _variable(file, name, _column([trial.get(name) for trial in trials]), ["trial"])
            if "." in name and not name.startswith("provenance.") or name == "seed":
                column.attrs["column"] = "config"
        for name, values in curves.items():
            values, dims = values if isinstance(values, tuple) else (values, ("trial", "epoch", "relative_length"))
            _variable(file, name, values, dims[:values.ndim])
        statuses = [trial["status"] for trial in trials]
        file.attrs.update({"format": "headlab-results", "format_version": 1, "specification": 'name = "made-up"',
                           "count.planned": len(trials), "count.done": statuses.count("done")})
    seal(path)


def seal(path):
    """Ends the file in the line that verifies it."""
    data = pathlib.Path(path).read_bytes()
    pathlib.Path(path).write_bytes(data + f"headlab seal {hashlib.sha256(data).hexdigest()}\n".encode())


def _column(values):
    """As the program stores them: texts, int64 with its smallest, reals with NaN for no value."""
    some = next(value for value in values if value is not None)
    if isinstance(some, str):
        return np.array([value or "" for value in values], dtype=object)
    missing, dtype = (np.iinfo("i8").min, "i8") if isinstance(some, int) else (np.nan, "f8")
    return np.array([missing if value is None else value for value in values], dtype)


def _variable(file, name, values, dimensions=()):
    data = file.create_dataset(name, data=values, dtype=TEXT if values.dtype == object else values.dtype)
    data.attrs.update({"units": "1", "long_name": name})
    for axis, dimension in enumerate(dimensions):
        data.dims[axis].attach_scale(file[dimension])
    if dimensions and values.dtype != object:
        data.attrs["_FillValue"] = np.iinfo("i8").min if values.dtype == "i8" else values.dtype.type(np.nan)
    return data
