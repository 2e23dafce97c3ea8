"""What is allocated while something runs."""

from torch.profiler import ProfilerActivity, profile


def allocations(run):
    """Return the bytes of each allocation while `run` runs, as torch's profiler saw them."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
        run()
    taken = (event for event in recorded.events() if event.name != "[memory]")
    return [max(event.self_cpu_memory_usage, 0) for event in taken]
