"""Autotune in the training frameworks: rewards while they train, data sets before.

Each module is for one framework and needs nothing of the others:

trl        `reward_func`, `async_reward_func`: for `reward_funcs` of GRPOTrainer and RLOOTrainer
verl       `compute_score`, `compute_score_async`: custom reward functions
swift      `AutotuneORM`, `AutotuneAsyncORM`: reward plug-ins of ms-swift
openrlhf   `reward_func`, in a file that `--reward.remote_url` may name
verifiers  `reward` for v1 configurations, `rubric_func` for the classic Rubric
datasets   `load_scores`, `load_preferences`: a `datasets.Dataset` of what was scored

What becomes of an answer without a reward is never left to chance: see `scoring.Scorer`.
"""
