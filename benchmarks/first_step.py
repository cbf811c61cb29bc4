"""One training step of the tiny caption model in a fresh process, as the command line makes it."""

from attnlab_theory.cli.allocation import keep_freed_memory
from attnlab_theory.compilation import keep_programs


def main() -> None:
    """Import, read, compile or load what is compiled, make one step; then say so, for ending takes time as well."""
    keep_programs()
    keep_freed_memory()
    from attnlab_theory.labs import sentences
    from attnlab_theory.labs.captions.arms import BASE, PRESETS
    from attnlab_theory.labs.captions.lab import config, training
    from attnlab_theory.language.train import started, train

    material, preset = sentences.generated(0, sentences.Sizes()), PRESETS["tiny"]
    plain = config(BASE, preset, vocabulary=len(material.text))
    run = training(material, plain, preset.recipe, arm=BASE)
    next(train(started(run.first(), run.training), run.epochs, run.training))
    print("stepped", flush=True)


if __name__ == "__main__":
    main()
