"""What can keys, queries and values do that plain self-attention cannot?"""

from attnlab_theory.claims import Findings
from attnlab_theory.claims.routing import key_query_value as claims
from attnlab_theory.claims.routing import three_tokens
from attnlab_theory.experiment import Experiment, main

HEADS = {"plain": r"$Q = K = V = I$", "constructed": r"constructed $Q$, $V$"}


def coordinates(findings: Findings, head: str, row: int) -> Findings:
    """One output of a head along all four directions."""
    claimed = [claims.OUTPUTS] + [claims.NOTHING_ELSE] * (head == "constructed")
    chosen = (findings.of(claim.name, head=head, row=row, beta=three_tokens.SEEN_BETA) for claim in claimed)
    return Findings(sorted((f for part in chosen for f in part), key=lambda f: f.setting["direction"]))


def draw_figure(findings: Findings):
    """Attention before and after, what comes out of it, and how far plain attention stays from u_b."""
    from attnlab_theory.report import style

    figure, axes = style.panels(
        "Plain self-attention only copies its tokens; constructed queries and values send tokens 1 and 2 "
        "to $u_b - u_c$ and $u_b$\n(tokens: $x_1 = u_d + u_b$, $x_2 = u_a$, $x_3 = u_c + u_b$)",
        rows=2,
        columns=3,
        size=(12.6, 7.6),
    )
    beta = three_tokens.SEEN_BETA
    for ax, (head, label) in zip(axes[:2], HEADS.items(), strict=True):
        cells = findings.of("key-query-value-weights", head=head, beta=beta)
        style.draw_cells(ax, cells, row="row", column="column")
        ax.set(xlabel="looks at token", ylabel="token")
        ax.set_title(rf"Weights, {label}, $\beta = {beta:g}$")

    apart = axes[2]
    for series, middle in enumerate(("a", "a+d")):
        chosen = findings.of("no-mixture-is-near", middle=middle)
        name = {"a": "$x_2 = u_a$", "a+d": "variant $x_2 = u_a + u_d$"}[middle]
        style.draw_predicted(
            apart, chosen, "beta", series=series, label=f"{name}, lower bound for any mean of tokens"
        )
        best = findings.of("best-mixture", middle=middle)
        style.draw_measured(apart, best, "beta", series=series, label=f"{name}, best query, $V = I$")
    built = findings.of("constructed-error", row=2)
    style.draw_predicted(apart, built, "beta", series=2, label="constructed $Q$, $V$")
    style.draw_measured(apart, built, "beta", series=2)
    apart.set(xlabel=r"norm of the directions $\beta$", ylabel=r"distance $\|c_2 - u_b\|$")
    apart.set_title("Only the constructed head comes near $u_b$")
    apart.set_ylim(top=4.2)
    apart.legend(loc="upper left", fontsize=8)

    for ax, row, goal in zip(axes[3:5], (1, 2), ("u_b - u_c", "u_b"), strict=True):
        for series, (head, label) in enumerate(HEADS.items()):
            style.draw_measured(
                ax,
                coordinates(findings, head, row),
                "direction",
                series=series,
                label=label,
            )
        wanted = coordinates(findings, "constructed", row)
        ax.plot(wanted.values("direction"), wanted.values("wanted"), "k_", markersize=22, label="wanted")
        ax.set(xlabel="direction $u$", ylabel=rf"$c_{row} \cdot u / \beta^2$", ylim=(-1.2, 1.7))
        ax.set_title(f"Output {row} should be ${goal}$")
        ax.legend(loc="upper right", ncols=2, fontsize=8)

    leaks = axes[5]
    for series, (claim, name) in enumerate(
        (("plain-attention-copies-itself", "a"), ("sum-token-copies-itself", "a+d"))
    ):
        chosen = findings.of(claim, middle=name)
        label = {"a": "$x_2 = u_a$", "a+d": "variant $x_2 = u_a + u_d$"}[name]
        style.draw_predicted(leaks, chosen, "beta", series=series, label=label)
        style.draw_measured(leaks, chosen, "beta", series=series)
    leaks.set(
        yscale="log", xlabel=r"norm of the directions $\beta$", ylabel=r"weight on other tokens $1 - \alpha_{22}$"
    )
    leaks.set_title("Plain: token 2 looks ever more at itself alone")
    leaks.legend()
    style.legend(figure)
    return figure


EXPERIMENT = Experiment(
    name="key_query_value",
    question="What can keys, queries and values do that plain self-attention cannot?",
    claims=three_tokens.CLAIMS + claims.CLAIMS,
    draw_figure=draw_figure,
)

if __name__ == "__main__":
    raise SystemExit(main(EXPERIMENT))
