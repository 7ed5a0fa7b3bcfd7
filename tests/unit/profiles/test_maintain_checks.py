"""What a profile may not say of a deployment, before any server is asked."""

import pytest

from lab.errors import ProfileError
from lab.profiles import load_profile


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("maintain.to=[elasticsearch-1]", 'got "elasticsearch-1", expected other nodes than `maintain.index_node`'),
        ("maintain.to=[a, a]", '"a" is listed twice, expected once'),
        ("maintain.action=merge", 'got "merge", expected deploy'),
        ("maintain.route=fast", 'got "fast", expected exclude, snapshot or replicas-first'),
        (
            "index.number_of_replicas=1",
            "a run that deploys sets it, expected none (or `maintain.number_of_replicas`: the indices are loaded "
            "without replicas)",
        ),
    ],
)
def test_a_deployment_that_contradicts_itself_is_refused(override: str, message: str) -> None:
    """In one sentence, at the key that is wrong."""
    with pytest.raises(ProfileError) as refused:
        load_profile("products/deploy", overrides=[override])
    assert str(refused.value) == f"--set {override.partition('=')[0]}: {message}"


def test_queries_beside_a_deployment_need_a_question_and_an_end() -> None:
    """Both are missed at once."""
    with pytest.raises(ProfileError) as refused:
        load_profile("products/deploy", overrides=["maintain.queries={clients: 2}"])
    assert str(refused.value).splitlines() == [
        "--set maintain.queries: has no question to send, expected `queries.questions`",
        "--set maintain.queries: has no end before the deployment, expected `duration_s`",
    ]


def test_queries_alone_have_nothing_to_deploy() -> None:
    """Their index is kept for other runs."""
    with pytest.raises(ProfileError) as refused:
        load_profile("products/deploy", overrides=["load.mode=query"])
    assert "maintain: a load of queries fills no index, expected no such section" in str(refused.value)


def test_an_index_is_loaded_without_replicas_where_it_is_deployed_later() -> None:
    """Saying so is no contradiction."""
    assert load_profile("products/deploy", overrides=["index.number_of_replicas=0"]).number_of_replicas == 0
    assert load_profile("products/deploy").number_of_replicas == 0
