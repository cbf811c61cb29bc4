"""The claims that name nothing that would be believed instead, each with the reason why."""

TO_COME = "a rival has not been written yet: issue 18 names the rule"

WITHOUT_A_RIVAL = {
    # selecting
    # ---
    # noisy_keys
    # ---
    "small-noise-error": TO_COME,
    "small-noise-harmless-in-the-window": TO_COME,
    "delta-method": TO_COME,
    "one-head-share": TO_COME,
    "one-head-is-fair-on-average": TO_COME,
    "one-head-share-variance": TO_COME,
    "one-head-variance": TO_COME,
    "two-heads-error-when-heard": TO_COME,
    "head-loses-its-key": TO_COME,
    "head-2-is-untouched": TO_COME,
    "identical-heads-keep-the-variance": TO_COME,
    "where-the-output-lands": TO_COME,
    "many-heads-error": TO_COME,
    "moments-with-a-stretched-key": TO_COME,
    "second-moment-of-a-strong-query": TO_COME,
    "moments-under-any-covariances": TO_COME,
    "scores-stand-for-keys": TO_COME,
    "two-heads-scores-of-one-key": TO_COME,
    "best-query-error": TO_COME,
    "best-query-for-the-pair-error": TO_COME,
    "queries-for-the-pair-lose": TO_COME,
    "best-query-loses-under-noise": TO_COME,
    "no-query-for-the-pair-beats-the-best": TO_COME,
    "no-query-beats-the-best": TO_COME,
    "two-heads-at-their-best": TO_COME,
    # routing
    # ---
    # positions
    # ---
    # features
    # ---
    # sparse
    # ---
}
