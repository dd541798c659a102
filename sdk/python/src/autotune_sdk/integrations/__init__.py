"""Adapters for training frameworks: rewards during training, and data sets before it.

Each module is for one framework and does not depend on the others:

trl        `reward_func`, `async_reward_func`: for `reward_funcs` of GRPOTrainer and RLOOTrainer
verl       `compute_score`, `compute_score_async`: custom reward functions
swift      `AutotuneORM`, `AutotuneAsyncORM`: reward plug-ins of ms-swift
openrlhf   `reward_func`, in a file that `--reward.remote_url` may name
verifiers  `reward` for v1 configurations, `rubric_func` for the classic Rubric
datasets   `load_scores`, `load_preferences`: a `datasets.Dataset` of scored completions

You define what happens to an answer without a reward: see `scoring.Scorer`.
"""
