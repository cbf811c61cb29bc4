"""Formulas of statements, in the letters of Unicode."""

import pytest

from attnlab_theory.claims import CLAIMS
from attnlab_theory.report.formulas import plain


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"a claim without formulas costs 5 $", "a claim without formulas costs 5 "),
        (r"$\mathbb{E}\|c-\frac{1}{2}(v_a+v_b)\|^2 \to 1/2$", "E‖c-1/2(v_a+v_b)‖² → 1/2"),
        (r"$\frac{n-|S|}{|S|e^\beta}$, then $\sqrt{2a} \ll 1$", "(n-|S|)/(|S|e^β), then √(2a) ≪ 1"),
        (r"$10^{-6}$, $e^{-(H_{\max} - 1)}$, $A A^T$", "10⁻⁶, e^(-(H_max - 1)), A Aᵀ"),
        (r"$D\tanh(aD^2/4)$, $2(\cosh D - 1)$", "D tanh(aD²/4), 2(cosh D - 1)"),
        (r"$\binom{n-1}{k}$, $\frac12$, $k_1 \cdot k_{12}$", "C(n-1, k), 1/2, k₁ · k₁₂"),
    ],
)
def test_a_formula_is_written_without_latex(latex, text):
    assert plain(latex) == text


def test_no_statement_of_a_claim_keeps_a_command_or_a_brace():
    for claim in CLAIMS:
        text = plain(claim.statement)
        assert not {"\\", "$", "{", "}"} & set(text), text
        assert "  " not in text
