"""The claims that name nothing that would be believed instead, each with the reason why."""

WITHOUT_A_RIVAL: dict[str, str] = {}
