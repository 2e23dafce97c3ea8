"""The training lab learns in the page as the library's models learn, and shows what they have learned."""

import re
from functools import cache
from typing import Any

import pytest
import torch
from harness.reading.scripted_pages import percent, table_texts
from harness.reading.visits import HEAR

import literate_attention as la
from interactive.training_lab_numbers import KINDS, QUESTIONS, SEED, new_model, task_data, tasks

pytestmark = pytest.mark.browser

NAMES = {
    "average": "Average",
    "simple": "Simple attention",
    "self": "Self-attention",
    "oneHead": "One head",
    "twoHeads": "Two heads",
}
STEPS = 30
TRAIN = """([kind, parameters, task, settings, steps]) => {
    const { beginning, lossAndGradients, takeStep } = literateParts.learning;
    const rows = (some) => (Array.isArray(some[0]) ? some.map(rows) : Float64Array.from(some));
    const plain = (some) => (ArrayBuffer.isView(some) ? [...some] : some.map(plain));
    const each = (all, change) =>
        Object.fromEntries(Object.entries(all).map(([name, some]) => [name, change(some)]));
    const training = beginning(kind, each(parameters, rows));
    const { loss, gradients } = lossAndGradients(training, task);
    for (let step = 0; step < steps; step += 1) takeStep(training, task, settings);
    return { loss, gradients: each(gradients, plain), losses: training.losses,
             parameters: each(training.parameters, plain) };
}"""


@cache
@torch.enable_grad()
def trained(kind):
    """Return the library's model of a kind of attention, trained as the page does, and its losses."""
    torch.manual_seed(SEED)
    model = new_model(kind)
    settings = QUESTIONS[KINDS[kind]]
    return model, la.train(model, tasks(KINDS[kind])[0], **settings)


def choose(page, kind) -> None:
    """Choose a question and a kind of attention by keyboard."""
    second = KINDS[kind] == "both"
    page.get_by_role("radio", name="What do I beat?").press("ArrowRight" if second else "Space")
    page.get_by_role("radio", name=NAMES[kind]).press("Space")


def press(page, name) -> None:
    page.get_by_role("button", name=name, exact=True).press("Enter")


def finish(page) -> None:
    """Train until the training has ended."""
    press(page, "Train")
    page.get_by_role("button", name="Train further").wait_for()


def stop_after(page, steps) -> None:
    """Press Stop in the frame in which a training has taken more steps than these."""
    page.evaluate(
        """steps => new Promise((done) => {
            const look = () => {
                const { length } = document.querySelector(".lp-course-1").points;
                if (length <= steps) return requestAnimationFrame(look);
                document.querySelector(".tl-train").click();
                done();
            };
            look();
        })""",
        steps,
    )


def results(page, kind):
    """Return what the table says of a kind of attention: steps, and both accuracies."""
    rows = table_texts(page.locator(".lp-table"), "tbody tr", "th, td")
    return {name: rest for name, *rest in rows}[NAMES[kind]]


@pytest.mark.parametrize("kind", KINDS)
def test_script_equals_library_on_random_settings(open_figure, kind) -> None:
    """Loss, gradients and steps are the library's to 1e-6, whatever the parameters and the settings."""
    page = open_figure("training_lab")
    torch.manual_seed(2017)
    for std, lr, weight_decay in ((0.1, 0.01, 0.0), (0.3, 0.003, 1.0), (0.6, 0.03, 2.0)):
        model = new_model(kind)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=std)
        task = tasks(KINDS[kind])[0]
        start = {name: one.tolist() for name, one in model.named_parameters()}
        settings = {"lr": lr, "weightDecay": weight_decay}
        got = page.evaluate(TRAIN, [kind, start, task_data(task), settings, STEPS])

        logits = la.answer_logits(model, task).flatten(0, -2)
        loss = torch.nn.functional.cross_entropy(logits, task.answers.flatten())
        gradients = torch.autograd.grad(loss, tuple(model.parameters()))
        losses = la.train(model, task, STEPS, lr, weight_decay)
        expected: dict[str, Any] = {
            "loss": loss.detach(),
            "gradients": dict(zip(start, gradients, strict=True)),
            "losses": torch.tensor(losses, dtype=torch.float64),
            "parameters": {name: one.detach() for name, one in model.named_parameters()},
        }
        for what, numbers in expected.items():
            same(got[what], numbers, f"{kind}, {std}: {what}")


def same(got, expected, about) -> None:
    """Compare numbers, also those of parameters by their names."""
    if isinstance(expected, dict):
        assert got.keys() == expected.keys(), about
        for name, numbers in expected.items():
            same(got[name], numbers, f"{about} of {name}")
        return
    numbers = torch.tensor(got, dtype=torch.float64)
    torch.testing.assert_close(
        numbers, expected, rtol=1e-6, atol=1e-6, msg=lambda m: f"{about}: {m}"
    )


def test_training_by_keyboard_ends_where_the_librarys_does(open_figure) -> None:
    """From the numbers of the chapters' seed, for every kind of attention; what was trained stays."""
    page = open_figure("training_lab", reduced_motion="reduce")
    for kind in KINDS:
        choose(page, kind)
        finish(page)
        model, losses = trained(kind)
        shares = [percent(la.accuracy(model, task)) for task in tasks(KINDS[kind])]
        assert results(page, kind) == [str(len(losses)), *shares]
        assert f"{losses[-1]:.2f}" in page.get_by_role("status").inner_text()
    page.get_by_role("radio", name="What do I beat?").press("Space")
    assert results(page, "self") == ["300", percent(1), percent(1)]


def test_a_training_is_stopped_continued_and_begun_anew(open_figure) -> None:
    """It goes on where it was stopped, says little, and begins with the same numbers or with others."""
    page = open_figure("training_lab")
    page.evaluate(HEAR, "[role=status]")
    steps = lambda: int(results(page, "self")[0])  # noqa: E731
    press(page, "Train")
    stop_after(page, 20)
    stopped = steps()
    assert 20 < stopped < 300
    page.wait_for_timeout(100)
    assert steps() == stopped
    press(page, "Go on")
    page.get_by_role("button", name="Train further").wait_for()
    assert results(page, "self") == ["300", percent(1), percent(1)]
    assert 3 <= len(page.evaluate("heard")) <= 6

    def first_loss():
        press(page, "Train")
        stop_after(page, 1)
        label = page.locator(".tl-course").get_attribute("aria-label")
        return re.findall(r"from ([\d.]+) at", label)[0]

    press(page, "Begin anew")
    assert steps() == 0
    assert first_loss() == f"{trained('self')[1][0]:.2f}"
    press(page, "New random numbers")
    assert steps() == 0
    weights = page.locator(".tl-circle").get_attribute("aria-label")
    press(page, "Begin anew")
    assert weights != page.locator(".tl-circle").get_attribute("aria-label")
