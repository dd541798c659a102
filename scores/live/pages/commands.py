"""Commands and settings that connect a trainer to Autotune, as in docs/integrations, for one task and address."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from autotune.core import ids
from scores.models import RewardEndpoint
from scores.states import RewardProtocol

PLACE: Final = "$URL"  # placeholder for the address, which is shown only once


@dataclass(frozen=True, slots=True)
class TrainerRecipe:
    """The settings of one trainer. `blocks` are (title, text to copy)."""

    trainer: str
    note: str
    blocks: list[tuple[str, str]]


def by_address(endpoint: RewardEndpoint, url: str = "") -> TrainerRecipe:
    """Return the settings of the trainer that calls the endpoint, with its address if that is known."""
    return _BY_PROTOCOL[endpoint.protocol](url or PLACE)


def by_sdk(endpoint: RewardEndpoint) -> list[TrainerRecipe]:
    """Return the settings of trainers that use the SDK. They need an API key instead of the address."""
    task = ids.encode("task", endpoint.task_id)
    return [_trl(task), _verl(task), _verifiers(task), _swift(task)]


def environment() -> str:
    """Return the commands that set up the SDK where the trainer runs."""
    return f"pip install autotune-sdk\nexport AUTOTUNE_BASE_URL={settings.PUBLIC_URL} AUTOTUNE_API_KEY=at_live_…"


def _openrlhf(url: str) -> TrainerRecipe:
    return TrainerRecipe(
        "OpenRLHF",
        "OpenRLHF sends one sample per call, waits 180 s and tries five times. In its log, autotune_unscored is 1.0 "
        "for a stand-in.",
        [
            ("Flag", f'--reward.remote_url "{url}"'),
            ("Flag of older releases", f'--remote_rm_url "{url}"'),
            ("By hand", _posted(url, '{"query": ["2+2? 4"], "prompts": ["2+2? "], "labels": ["4"]}')),
        ],
    )


def _slime(url: str) -> TrainerRecipe:
    return TrainerRecipe(
        "slime",
        "slime waits 120 s and tries ten times. With --reward-key, `state` in the answer says why there is no score.",
        [
            ("Flags", f'--rm-type remote_rm --rm-url "{url}"'),
            (
                "With an object as the answer",
                f'--rm-type remote_rm --rm-url "{url}?rewardKey=score" --reward-key score',
            ),
            ("By hand", _posted(url, '{"prompt": "2+2?", "response": "4", "label": "4"}')),
        ],
    )


def _verify(url: str) -> TrainerRecipe:
    code = f'''async def verify(self, body):
    sent = body.model_dump(mode="json")
    for _ in range(60):
        async with self.session.post("{url}", json=sent) as reply:
            if reply.status == 503:  # no room just now: the same call again joins the same work
                await asyncio.sleep(float(reply.headers.get("Retry-After", 1)))
                continue
            reply.raise_for_status()
            return MyVerifyResponse.model_validate(await reply.json())
    raise RuntimeError("no reward: the endpoint answered 503 each time")'''
    body = (
        '{"responses_create_params": {"input": "2+2?"}, "response": {"output": [{"type": "message", "role": '
        '"assistant", "content": [{"type": "output_text", "text": "4"}]}]}, "expected_answer": "4"}'
    )
    return TrainerRecipe(
        "NeMo Gym",
        "A resources server forwards its body. Rows without a score have _ng_failure_class, and Gym leaves them out.",
        [("verify of the resources server", code), ("By hand", _posted(url, body))],
    )


def _foundry(url: str) -> TrainerRecipe:
    body = '{"sample": {"output_text": "4"}, "item": {"prompt": "2+2?"}}'
    return TrainerRecipe(
        "Microsoft Foundry",
        "Enter this address as the endpoint grader, which is a private preview.",
        [("Address", url), ("By hand", _posted(url, body))],
    )


_BY_PROTOCOL: Final[dict[str, Callable[[str], TrainerRecipe]]] = {
    RewardProtocol.OPENRLHF: _openrlhf,
    RewardProtocol.SLIME: _slime,
    RewardProtocol.VERIFY: _verify,
    RewardProtocol.FOUNDRY: _foundry,
}


def _posted(url: str, body: str) -> str:
    return f"curl -sS \"{url}\" -H 'Content-Type: application/json' \\\n  -d '{body}'"


def _trl(task: str) -> TrainerRecipe:
    text = f'''from autotune_sdk.integrations.trl import reward_func

trainer = GRPOTrainer(
    model=model,
    train_dataset=dataset,  # a column prompt, text or messages
    reward_funcs=reward_func("{task}", metadata=["answer"], deadline_s=120),
)'''
    note = "For GRPOTrainer and RLOOTrainer. A missing reward is None, never a zero, and TRL leaves it out."
    return TrainerRecipe("TRL", note, [("In the script", text)])


def _verl(task: str) -> TrainerRecipe:
    text = f"""reward.custom_reward_function.path=pkg://autotune_sdk.integrations.verl
reward.custom_reward_function.name=compute_score_async
+reward.custom_reward_function.reward_kwargs.task_id={task}
+reward.custom_reward_function.reward_kwargs.missing=0.0
reward.num_workers=8"""
    note = "The prompt is in extra_info.prompt_text, as in exports for veRL. autotune_scored shows which are stand-ins."
    return TrainerRecipe("veRL", note, [("Overrides", text)])


def _verifiers(task: str) -> TrainerRecipe:
    v1 = '[env.taskset.task.rewards]\nautotune = { fn = "autotune_sdk.integrations.verifiers:reward", weight = 1.0 }'
    classic = f"""from autotune_sdk.integrations.verifiers import rubric_func

rubric = vf.Rubric(funcs=[rubric_func("{task}", missing=0.0)], weights=[1.0])"""
    return TrainerRecipe(
        "verifiers, prime-rl",
        "If a reward is missing, v1 records that scoring failed, not that the answer was bad.",
        [("Environment", f"export AUTOTUNE_TASK_ID={task}"), ("v1", v1), ("Classic", classic)],
    )


def _swift(task: str) -> TrainerRecipe:
    plugin = f"""# autotune_plugin.py
from autotune_sdk.integrations.swift import AutotuneORM
from swift.rewards import orms


class Quality(AutotuneORM):
    options = {{"task_id": "{task}", "missing": 0.0}}


orms["quality"] = Quality"""
    run = "swift rlhf --rlhf_type grpo --external_plugins autotune_plugin.py --reward_funcs quality"
    return TrainerRecipe(
        "ms-swift",
        "If a reward is missing, the value of missing replaces it, and is counted and logged.",
        [("Plug-in", plugin), ("Command", run)],
    )
