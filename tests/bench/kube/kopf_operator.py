"""Kopf's smallest operator that answers every generation with a ready-made status; run by `kopf run`, not by us."""

import json
import os

import kopf

STATUS = json.loads(os.environ["BENCH_STATUS"])


@kopf.on.startup()
def quiet(settings: kopf.OperatorSettings, **_):
    settings.posting.enabled = False  # no Events for each log line: the others write none


# A plain event handler: create and update handlers would add a second patch, of kopf's own annotations.
@kopf.on.event("kopf.bench.alate.dev", "v1alpha1", "colonies")
async def answer(meta, status, patch, **_):
    if status.get("observedGeneration") != meta["generation"]:
        patch.status.update(STATUS | {"observedGeneration": meta["generation"]})
