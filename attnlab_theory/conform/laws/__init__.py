"""The kinds that draw random numbers: what they promise is a law, judged with an error rate.

Each law has a budget `ALPHA` of false alarms, which its intervals share. `dropout` judges attention whose weights
are dropped, `features` judges random features and the attention that is made of them.
"""
