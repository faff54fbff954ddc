"""Rows of `runs`: each run with its problem and its device."""

from __future__ import annotations

from treesearch.export.dataset.nodes import Subject
from treesearch.export.dataset.rows import Searched
from treesearch.records import Device, Problem


def searched(about: Subject, problem: Problem, device: Device) -> Searched:
    run, lineage = about.run, about.lineage
    return Searched(
        run=run.id,
        problem=problem.name,
        problem_digest=run.problem,
        reference=problem.source,
        tolerance=problem.tolerance,
        precision=problem.precision,
        flops=problem.flops,
        bytes_moved=problem.bytes_read + problem.bytes_written,
        language=run.config.language,
        models=run.config.named_models,
        policy=run.config.policy,
        rounds=run.config.rounds,
        state=run.state,
        created=run.created,
        kernels=len(lineage.entries),
        verified=len(lineage.verified()),
        winner=about.winner,
        device=device.id,
        device_kind=device.kind,
        device_name=device.name,
        device_architecture=device.architecture or None,
        device_cores=device.cores,
        device_memory_bytes=device.memory_bytes,
        device_bandwidth=device.bandwidth,
        device_software=device.software,
        problem_licence=about.licence(problem.source),
    )
