"""From an optimized graph to results: discovery, partitioning, plans, sessions."""
