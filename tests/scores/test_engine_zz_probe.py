import time, threading
import pytest
from django.db import OperationalError
from autotune.core import http
from scores import claims, recording
from scores.scoring import Drain
from scores.models import *
from tests.factories import *

def test_a_abandon(db, fake, drain, monkeypatch):
    g = GraderFactory(endpoint=fake.url, max_batch_size=1, max_concurrency=8)
    t = TaskFactory(organization=g.organization, graders=[g])
    for n in range(60): RunFactory(completion=CompletionFactory(task=t, response=str(n)))
    def judge(c):
        time.sleep(1.0 if c["response"] in "01234" else 0.02)
        return 0.5
    fake.judge = judge
    def away(*a, **k): raise OperationalError("away")
    def save(self):
        if self.results and self.plan and self.calls: raise OperationalError("away in save")
    with monkeypatch.context() as m:
        m.setattr(Drain, "_save", save)
        m.setattr(claims, "give_back", away)
        try: drain(g)
        except OperationalError as e: print("first drain:", e)
    print("engine active", len(http.engine()._active), "done", len(http.engine()._done))
    from graders.guards import Guard
    from autotune.core.clock import database_now
    print("slots for another", Guard(g, "x").refresh(g, want=8, now=database_now()))
    WorkflowRun.objects.update(status="pending")
    time.sleep(1.2)
    try:
        drain(g); print("second drain ok")
    except BaseException as e: print("second drain:", type(e), e)
    print(sorted(WorkflowRun.objects.values_list("status", flat=True))[:3], Score.objects.count())
