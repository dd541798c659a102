"""The demo scores sample completions with a black-box grader and exports training data, all on this machine."""
