"""Train a small model on Fisher's iris measurements, on one process or many: data-parallel.

Every rank holds the same weights and its own share of the rows. In each epoch a rank adds up the
gradients of its rows, an all-reduce adds up these sums over the ranks, and all take the same step.
Nothing but the standard library is needed. Started plainly, the script trains alone; started with
RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set (see `ranks`), it is one of many.

Why any number of processes gives the same weights, to the last bit
-------------------------------------------------------------------
Adding floats rounds at every step, so the result depends on the order, and dealing the rows to ranks
changes the order. Here the gradients of single rows are turned into whole numbers (`ranks.to_exact`),
added without any rounding, and the total is rounded once. How the rows were dealt cannot show in it.
What remains is that a row's gradient must be the same number everywhere: the same Python on all nodes.

The model is softmax regression: three species, each with a weight for a constant and for the four
measurements.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ranks import Group, GroupError, from_exact, join, read_place, to_exact

DATA = Path(__file__).with_name("data") / "iris.csv"
SPECIES = ("setosa", "versicolor", "virginica")
MIDDLE_CM = (5.8, 3.0, 3.8, 1.2)  # measurements are taken from here: smaller numbers are learned from faster
LEARNING_RATE = 0.5

Weights = list[list[float]]


class DataError(Exception):
    """The data file is not as expected."""


class Row(NamedTuple):
    """One flower: 1.0 and four measurements (cm, from `MIDDLE_CM`), and its place in `SPECIES`."""

    inputs: tuple[float, ...]
    species: int


class Result(NamedTuple):
    """What training gave; the same on every rank. `loss` is the one before the last step."""

    world_size: int
    epochs: int
    loss: float
    train_accuracy: float
    test_accuracy: float
    weights: Weights
    weights_digest: str


def read_rows(path: Path = DATA) -> list[Row]:
    """Read the flowers.

    Raises
    ------
    DataError
        A line does not hold four numbers and a species; the message has its number.
    """
    rows = []
    with path.open(newline="", encoding="utf-8") as file:
        for number, line in enumerate(csv.reader(file), start=1):
            if number == 1:
                continue
            try:
                measures = zip(map(float, line[:-1]), MIDDLE_CM, strict=True)
                rows.append(Row((1.0, *(cm - middle for cm, middle in measures)), SPECIES.index(line[-1])))
            except (ValueError, IndexError):
                raise DataError(f"{path}, line {number}: not four numbers and a species: {','.join(line)}") from None
    return rows


def scores(weights: Weights, row: Row) -> list[float]:
    """One score per species; the highest is the model's answer."""
    return [sum(w * x for w, x in zip(species, row.inputs, strict=True)) for species in weights]


def loss_and_gradient(weights: Weights, row: Row) -> list[float]:
    """Cross-entropy of one row, followed by its derivative by each of the 15 weights."""
    row_scores = scores(weights, row)
    highest = max(row_scores)  # taken off first, so that exp cannot overflow
    exps = [math.exp(score - highest) for score in row_scores]
    total = sum(exps)
    result = [math.log(total) - (row_scores[row.species] - highest)]
    for species, value in enumerate(exps):
        error = value / total - (species == row.species)
        result += [error * x for x in row.inputs]
    return result


def exact_sums(weights: Weights, rows: Sequence[Row]) -> list[int]:
    """Loss and gradient summed over rows, exactly: 16 whole numbers (see `ranks.to_exact`)."""
    totals = [0] * (1 + sum(map(len, weights)))
    for row in rows:
        for place, value in enumerate(loss_and_gradient(weights, row)):
            totals[place] += to_exact(value)
    return totals


def count_right(weights: Weights, rows: Sequence[Row]) -> int:
    """How many rows the model names rightly."""
    answers = (scores(weights, row) for row in rows)
    return sum(answer.index(max(answer)) == row.species for answer, row in zip(answers, rows, strict=True))


def digest(weights: Weights) -> str:
    """A fingerprint of the weights: equal only where every bit of every weight is equal."""
    text = " ".join(weight.hex() for species in weights for weight in species)
    return hashlib.sha256(text.encode()).hexdigest()


def say(text: str) -> None:
    """Print a line at once and in one piece, for whoever follows the log."""
    print(f"{text}\n", end="", flush=True)


def train(group: Group, epochs: int) -> Result:
    """Train together with the other ranks of `group`."""
    rows = read_rows()
    test_rows = rows[4::5]  # every fifth flower is not learned from
    train_rows = [row for place, row in enumerate(rows) if place % 5 != 4]
    my_train_rows, my_test_rows = group.share(train_rows), group.share(test_rows)
    say(f"rank {group.rank} of {group.world_size}: {len(my_train_rows)} of {len(train_rows)} training rows")

    weights: Weights = [[0.0] * 5 for _ in SPECIES]
    loss = math.nan
    for epoch in range(1, epochs + 1):
        mine = exact_sums(weights, my_train_rows)
        totals = group.all_reduce(mine)
        loss, *gradient = [from_exact(total) / len(train_rows) for total in totals]
        steps = iter(gradient)
        weights = [[weight - LEARNING_RATE * next(steps) for weight in species] for species in weights]
        if epoch % max(epochs // 5, 1) == 0:
            my_loss = from_exact(mine[0]) / max(len(my_train_rows), 1)
            say(f"epoch {epoch:>4}  loss {loss:.4f}, of my rows {my_loss:.4f}")

    hits = group.all_reduce([count_right(weights, my_train_rows), count_right(weights, my_test_rows)])
    train_accuracy, test_accuracy = hits[0] / len(train_rows), hits[1] / len(test_rows)
    return Result(group.world_size, epochs, loss, train_accuracy, test_accuracy, weights, digest(weights))


def positive(text: str) -> int:
    """A whole number above 0, for an option."""
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def read_options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line; a mistake there ends the script with exit code 2."""
    parser = argparse.ArgumentParser(description="Train on Fisher's iris measurements, alone or as one of many ranks.")
    parser.add_argument("--epochs", type=positive, default=100, help="passes over the rows (default 100)")
    parser.add_argument("--timeout", type=positive, default=60, help="seconds to wait for other ranks (default 60)")
    parser.add_argument("--out", type=Path, help="file to which rank 0 writes the result, as JSON")
    options = parser.parse_args(arguments)
    if options.out and not options.out.parent.is_dir():
        parser.error(f"argument --out: there is no folder {options.out.parent}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one rank and return its exit code."""
    options = read_options(arguments)
    try:
        with join(read_place(os.environ), options.timeout) as group:
            result = train(group, options.epochs)
        say(f"accuracy {result.test_accuracy:.1%} on unseen flowers, weights {result.weights_digest[:16]}")
        if options.out and group.rank == 0:
            options.out.write_text(json.dumps(result._asdict(), indent=1) + "\n", encoding="utf-8")
    except (GroupError, DataError, OSError) as error:
        print(f"train_iris, rank {os.environ.get('RANK', 0)}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
