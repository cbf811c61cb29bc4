"""What every lab does the same way: train arms for seeds, resume, measure, judge, write, report."""
