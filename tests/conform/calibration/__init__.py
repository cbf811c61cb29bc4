"""What `attnlab conform` finds of bugs that are known, and whom it accuses wrongly."""

RECORD = "figures/calibration/conform.json"
PAGE = "docs/conform_calibration.md"
PARTS = ("planted", "museum", "mutants", "right", "suites")
