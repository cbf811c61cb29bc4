"""The front door: help, one-line refusals, and lazily imported rooms."""

import json
import subprocess
import sys

import pytest

from attnlab_theory.cli import main


def run(capsys, *arguments):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "copyin"], "did you mean copying?"),
        (["run", "copying", "--budget", "huge"], "quick"),
        (["run", "copying", "--seed", "x"], "x"),
        (["lisst"], "lisst"),
        (["construct", "subset"], "--keys"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(capsys, arguments, said):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_list_names_every_claim_of_every_experiment(capsys):
    from attnlab_theory.claims import CLAIMS

    code, out, _ = run(capsys, "list", "--json")
    assert code == 0
    named = {claim["name"] for experiment in json.loads(out) for claim in experiment["claims"]}
    assert named == {claim.name for claim in CLAIMS}


def test_help_imports_neither_jax_nor_matplotlib():
    program = (
        "import sys\nfrom attnlab_theory.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit as leaving:\n    assert not leaving.code\n"
        "assert not {'jax', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)


def test_doctor_prints_one_json_value(capsys):
    code, out, _ = run(capsys, "doctor", "--json")
    assert code == 0
    assert {"versions", "devices", "precision", "seconds_about"} <= set(json.loads(out))
