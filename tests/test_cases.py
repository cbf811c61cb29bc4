"""The public cases of ../shared/cases, each with the answer that a user expects; skipped where they are not there.

Rows that no command line shows, or that are asked of the grader, have tests of their own.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from attnlab_theory.cli import main

FOLDERS = [Path(__file__).parents[1] / "shared" / "cases", Path(__file__).parents[2] / "shared" / "cases"]
CASES = next((folder for folder in FOLDERS if folder.is_dir()), None)
pytestmark = pytest.mark.skipif(CASES is None, reason="no ../shared/cases: none of the public cases was run")
FAILS, WORKS = (CASES / name if CASES else Path(name) for name in ("fails", "works"))

LINES = [
    ("leaks {F}/09_student_module.py::model --width 4", 2, "given [1, 12, 4] it raised ValueError"),
    ("leaks {F}/09_student_module.py::model --width 4 --length 15", 0, "judged with a batch of one"),
    ("leaks {F}/10_fft_filter.py::mixer", 0, "but for rounding"),
    ("leaks {F}/10_fft_filter.py::mixer_unpadded", 1, "Leak: 11 of 12"),
    ("leaks {F}/12_length.py::dynamic_base", 1, "Outputs depend on the length of the whole"),
    ("leaks {F}/12_length.py::position_over_length", 1, "Outputs depend on the length of the whole"),
    ("leaks {F}/14_token_model.py::causal_model", 2, "for token numbers say --tokens N"),
    ("leaks {F}/14_token_model.py::causal_model --tokens 11", 0, "No leak at length 12"),
    ("leaks {F}/14_token_model.py::leaking_model --tokens 11", 1, "Leak: 11 of 12"),
    ("knowledge score {F}/35_dev.tsv {F}/35_trailing_space.predictions", 0, "4 more would match but for spaces"),
    ("knowledge score {F}/35_dev.tsv {F}/35_nbsp_end.predictions", 0, "4 more would match but for spaces"),
    ("knowledge score {F}/35_dev.tsv {F}/35_pads.predictions", 0, "4 more would match but for spaces"),
    ("knowledge score {F}/35_dev.tsv {F}/36_verbose.predictions", 0, "4 of 4 lines hold the place"),
    ("captions score {F}/42_chinese.txt {F}/42_chinese.txt", 0, "2 of 2 lines have no spaces between words"),
    ("captions score {F}/42_chinese.txt {F}/42_chinese.txt --unit characters", 0, "forward BLEU-4: 1.0000"),
    ("captions score {F}/43_captions.txt --self", 0, "self-BLEU-4, each against all others: 0.0330"),
    ("captions score {W}/39_references.txt {W}/39_references.txt", 0, "forward BLEU-4: 1.0000"),
    ("captions score {W}/39_line_separators.txt {W}/39_references.txt", 0, "2 hypotheses, 2 references"),
    ("leaks {W}/05_pooled_over_time.py::mixer", 1, "Leak: 11 of 12"),
    ("leaks {W}/05_pooled_over_time.py::mixer_mended", 0, "No leak at length 12"),
    ("leaks {W}/06_dropped_mask.py::plain", 0, "No leak at length 12"),
    ("leaks {W}/06_dropped_mask.py::with_weights", 1, "Leak: 11 of 12"),
    ("leaks {W}/13_selection.py::best_tokens_of_all", 1, "Leak: "),
]
"""Command lines, their exit codes, and what they say."""


@pytest.mark.slow("four of 23 members stay inside", but=4)
@pytest.mark.parametrize(("line", "wanted", "said"), LINES, ids=[line for line, _, _ in LINES])
def test_a_case_comes_out_as_a_user_expects(capsys, line, wanted, said):
    code = main(line.format(F=FAILS, W=WORKS).split())
    found = " ".join("".join(capsys.readouterr()).split())
    assert (code, said in found) == (wanted, True), found


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for place in (FAILS, WORKS):
        subprocess.run([sys.executable, place / "make_models.py", folder / place.name], check=True)
    return folder


@pytest.mark.slow("folders of BERT and RoBERTa made by the tests stay inside")
def test_model_folders_are_opened_as_their_own_library_opens_them(models):
    """The fixture makes a folder for each model, in processes of their own."""
    from attnlab_theory.labs.heads.opening import opened

    told = {}
    for folder in sorted(models.glob("*/*")):
        remarks = told.setdefault(folder.name, [])
        try:
            opened(folder, ["the film was good ."] * 3, tell=remarks.append)
        except ValueError as error:
            remarks.append(str(error))
    assert told.pop("bert_tuned_for_two_labels")[0].endswith(
        "a head that the model was tuned with, and no part of its layers"
    )
    assert "'transformer.layer.*.output_layer_norm.bias': it is not whole" in told.pop("distilbert")[0]
    without_tokens = {
        "gpt2_two_wide",
        "gpt2_layer_scaled",
        "gpt2_prefixed",
        "gpt2_reordered",
        "gpt2_bfloat16",
        "gpt2_float16",
    }
    for name in without_tokens & told.keys():
        assert told.pop(name)[0].endswith("texts are read with GPT-2's own vocabulary")
    assert not any(told.values()), json.dumps(told)


def test_labelled_files_are_read():
    from attnlab_theory.language.corpora.reviews import has_labels, read_reviews

    for name in ("44_glue.tsv", "44_glue_noheader.tsv", "44_tab_after_label.txt"):
        assert read_reviews(FAILS / name).labels[:2] == (1, 0)
    for name in ("44_glue_test.tsv", "44_hidden_labels.txt"):
        assert not has_labels(FAILS / name)
