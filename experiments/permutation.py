"""Does self-attention know the order of the words?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.positions import word_order as claims
from attnlab_theory.experiment import Experiment, main

NAMES = {
    "learned": "learned positions",
    "learned, still zero": "learned positions, still zero",
    "sinusoidal": "sinusoidal positions",
    "rotary": "rotary positions",
}
"""The names of positions in full."""


def draw_figure(findings: Findings):
    """How far each word's output moves when the sentence is permuted, by what tells the mixer where words stand."""
    import numpy as np
    from matplotlib.colors import Normalize

    from attnlab_theory.report import style

    figure, (ax,) = style.panels(
        "Without positions and mask, self-attention cannot tell a sentence from its permutation",
        size=(7.6, 4.0),
    )
    told = style.series_of(findings, "told")
    names = [NAMES.get(scheme, scheme) for scheme in told]
    by_scheme = [[f for f in findings if f.setting["told"] == scheme] for scheme in told]
    moved = np.array([[max(0.0, f.measured.centre) for f in row] for row in by_scheme])
    lost = np.array([[f.predicted.overlaps(f.measured) for f in row] for row in by_scheme])
    image = ax.imshow(moved, aspect="auto", norm=Normalize(0, moved.max()))
    for (row, column), value in np.ndenumerate(moved):
        text = "0" if lost[row, column] else f"{value:.2f}"
        ax.text(column, row, text, ha="center", va="center", color="white" if value < moved.max() / 2 else "black")
    # "the" occurs twice.
    words = [f"{claims.SENTENCE[i]}\n{i + 1}" for i in claims.ORDER]
    ax.set(xticks=range(len(words)), xticklabels=words, yticks=range(len(told)), yticklabels=names)
    ax.set(xlabel='word of "on the mat sat the cat", and its place in "the cat sat on the mat"')
    ax.set(ylabel="what tells attention the order")
    ax.grid(False)
    label = 'distance of the word\'s output from that in\n"the cat sat on the mat" (0: within rounding)'
    figure.colorbar(image, ax=ax, label=label)
    return figure


EXPERIMENT = Experiment(
    name="permutation",
    question="Does self-attention know the order of the words?",
    claims=claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
