"""The demo: sample completions in, a black-box grader called, training data out, all on this machine."""
