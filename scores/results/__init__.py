"""Results: completions, scores and rewards as callers read, wait for, compare and summarise them."""
