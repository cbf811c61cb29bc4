"""Numbers to numbers in float64. Imports nothing of ours, so that it shares no bug with what it judges."""
