"""The written contracts of the questions that code can answer."""

from attnlab_theory.grader.contract import Contract
from attnlab_theory.grader.contracts import averaging, four_keys, hedging, key_query_value, subspaces

CONTRACTS: dict[str, Contract] = {
    contract.question: contract
    for contract in (
        *subspaces.CONTRACTS,
        *averaging.CONTRACTS,
        *hedging.CONTRACTS,
        *key_query_value.CONTRACTS,
        *four_keys.CONTRACTS,
    )
}
"""By question id. Explicit: no discovery."""
