"""What a profile may not say of a deployment, before any server is asked."""

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile
from tests.unit.messages import MakeMessage


@pytest.mark.parametrize(
    ("override", "facts"),
    [
        ("maintain.to=[elasticsearch-1]", ("elasticsearch-1", "maintain.index_node")),
        ("maintain.to=[a, a]", ("a",)),
        ("maintain.action=merge", ("merge",)),
        ("maintain.route=fast", ("fast",)),
        (
            "index.number_of_replicas=1",
            ("maintain.number_of_replicas",),
        ),
    ],
)
def test_a_deployment_that_contradicts_itself_is_refused(
    override: str, facts: tuple[object, ...], message: MakeMessage
) -> None:
    """In one sentence, at the key that is wrong."""
    with pytest.raises(ProfileError) as refused:
        load_profile("products/deploy", overrides=[override])
    assert str(refused.value) == message(f"--set {override.partition('=')[0]}", *facts)


def test_queries_beside_a_deployment_need_a_question_and_an_end(message: MakeMessage) -> None:
    """Both are missed at once."""
    with pytest.raises(ProfileError) as refused:
        load_profile("products/deploy", overrides=["maintain.queries={clients: 2}"])
    assert str(refused.value).splitlines() == [
        message("--set maintain.queries", "queries.questions"),
        message("--set maintain.queries", "duration_s"),
    ]


def test_queries_alone_have_nothing_to_deploy(message: MakeMessage) -> None:
    """Their index is kept for other runs."""
    with pytest.raises(ProfileError) as refused:
        load_profile("products/deploy", overrides=["load.mode=query"])
    assert str(refused.value) == message("maintain")


def test_an_index_is_loaded_without_replicas_where_it_is_deployed_later() -> None:
    """Saying so is no contradiction."""
    assert load_profile("products/deploy", overrides=["index.number_of_replicas=0"]).number_of_replicas == 0
    assert load_profile("products/deploy").number_of_replicas == 0
