"""What can be wrong with the `queries` section, against the questions of experiments/queries."""

from collections.abc import Iterator
from pathlib import Path

from lab.profiles.datasets import known_datasets
from lab.profiles.located import Located
from lab.profiles.problems import Problem, suggestion
from lab.profiles.questions import question_names, read_question
from lab.profiles.wording import unknown_name


def query_problems(tree: Located, root: Path) -> Iterator[Problem]:
    """Questions that there are not, that cannot be asked of these documents, or whose own file has problems."""
    names = question_names(root)
    stated = _listed(tree, "questions")
    for entry in stated:
        yield from unknown_name(entry, "queries.questions", "question", names)
        if entry.value in names:
            yield from _question_problems(entry, tree, root)
    asked = [str(entry.value) for entry in stated]
    for entry in stated:
        if asked.count(str(entry.value)) > 1:
            yield Problem(entry.place, "queries.questions", f'"{entry.value}" is there twice, expected it once')
    for entry in _listed(tree, "expect_wrong"):
        if isinstance(entry.value, str) and entry.value not in asked:
            said = suggestion(entry.value, set(asked), "one of `queries.questions`")
            yield Problem(entry.place, "queries.expect_wrong", f'"{entry.value}" is not asked, {said}')


def _listed(tree: Located, key: str) -> list[Located]:
    entry = tree.at("queries", key)
    return entry.value if entry is not None and isinstance(entry.value, list) else []


def _question_problems(entry: Located, tree: Located, root: Path) -> Iterator[Problem]:
    question, problems = read_question(str(entry.value), root)
    yield from problems
    name, stated = tree.at("dataset", "name"), tree.at("dataset", "model")
    dataset = known_datasets().get(str(name.value)) if name is not None else None
    if question is None or problems or dataset is None:
        return
    if question.dataset != dataset.name:
        message = f'"{entry.value}" is about the dataset `{question.dataset}`, got `{dataset.name}`'
        yield Problem(entry.place, "queries.questions", message)
        return
    model = str(stated.value) if stated is not None else dataset.default_model
    if model not in question.models:
        said = suggestion(model, question.models, "a model")
        yield Problem(entry.place, "queries.questions", f'"{entry.value}" has no request for model `{model}`, {said}')
