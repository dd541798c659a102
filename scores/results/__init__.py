"""Read, await, compare and summarize completions, scores and rewards."""
