"""How far tokens are from being all alike, by depth. Imports matplotlib: import this module where it is drawn."""

from matplotlib.figure import Figure

from attnlab_theory.labs.estimates import Estimates
from attnlab_theory.labs.heads.traces import Kept
from attnlab_theory.labs.plots import bars, interval
from attnlab_theory.report import style


def collapse(estimates: Estimates) -> Figure:
    """One line for each way to take layers apart."""
    by_depth = estimates.of("distance to rank one")
    left = {e.setting["kept"]: e.value for e in estimates.of("share of the distance left")}
    title = (
        f"Attention alone leaves {left[Kept.ATTENTION]:.2g} of the tokens' distance, "
        f"the whole model {left[Kept.ALL]:.2g}"
    )
    figure, (ax,) = style.panels(title, size=(6.8, 4.4))
    for series, kept in enumerate(Kept):
        own = by_depth.of("distance to rank one", kept=kept)
        bars(ax, own, [e.setting["depth"] for e in own], series=series, label=str(kept), line=True)
    ax.set_yscale("log")
    ax.set_xticks(sorted({e.setting["depth"] for e in by_depth}))
    ax.set(xlabel="layers passed", ylabel="relative distance to rank one")
    told = f"what is kept of the layers; {interval(by_depth[0], 'max-t')}"
    figure.legend(loc="outside lower left", ncols=4, fontsize=8, title=told, title_fontsize=8)
    return figure
