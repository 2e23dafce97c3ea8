"""The tasks ask what their names say, and what is tested on was never trained on."""

import pytest
import torch

import literate_attention as la

COLOUR_OF = {
    "cherry": "red", "lobster": "red", "ruby": "red",
    "lemon": "yellow", "canary": "yellow", "sun": "yellow",
    "plum": "blue", "whale": "blue", "sky": "blue",
    "lime": "green", "frog": "green", "grass": "green",
}  # fmt: skip
FRUIT, ANIMALS = {"cherry", "lemon", "plum", "lime"}, {"lobster", "canary", "whale", "frog"}
WINS = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}


def rows(task):
    return [
        (task.sentence(i).split(), [task.choices[a] for a in answers.flatten().tolist()])
        for i, answers in enumerate(task.answers)
    ]


def both_parts(task):
    return [*rows(task[0]), *rows(task[1])]


def test_a_lookup_is_answered_with_the_colour_of_the_thing_that_is_asked_for() -> None:
    for (*things, question), [colour] in both_parts(la.lookup_task()):
        kinds = {"fruit?": FRUIT, "animal?": ANIMALS, "nature?": COLOUR_OF.keys() - FRUIT - ANIMALS}
        [asked] = kinds[question].intersection(things)
        assert colour == COLOUR_OF[asked]


def test_whom_asks_for_the_third_word() -> None:
    for (who, _, whom, question), answers in both_parts(la.word_order_task()):
        assert question == "whom?"
        assert [whom] == answers != [who]


def test_a_hand_names_the_glove_that_it_beats_and_the_one_that_beats_it() -> None:
    for example, answers in both_parts(la.gloves_task()):
        hands = [word.split("-") for word in example]
        for (_, hand), answer in zip(hands, answers, strict=True):
            assert [colour for colour, other in hands if (hand, other) in WINS] == [answer]
    for example, answers in both_parts(la.both_sides_task()):
        *others, (_, last) = (word.split("-") for word in example)
        [beaten] = [colour for colour, other in others if (last, other) in WINS]
        [winner] = [colour for colour, other in others if (other, last) in WINS]
        assert answers == [beaten, winner]


def test_the_next_word_answers_each_word_of_sixteen_sentences() -> None:
    task = la.next_word_task()
    sentences = {(*example, answers[-1]) for example, answers in rows(task)}
    assert len(sentences) == len(task.examples) == 16
    assert task.words == task.choices
    assert torch.equal(task.answers[:, :-1], task.examples[:, 1:])
    assert (task.answers[:, -1] == task.words.index(".")).all()


@pytest.mark.parametrize(
    "make", [la.lookup_task, la.word_order_task, la.gloves_task, la.both_sides_task]
)
def test_the_test_was_never_trained_on(make) -> None:
    seen, unseen = make()

    def sets(task):
        return {frozenset(words) for words, _ in rows(task)}

    alike = (lambda task: {tuple(w) for w, _ in rows(task)}) if make is la.word_order_task else sets
    assert not alike(seen) & alike(unseen)
    assert seen.words == unseen.words


def test_a_word_that_a_task_does_not_know_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'banana' is none of the task's words: cherry, lemon"):
        la.lookup_task()[0].token_ids("cherry banana")
