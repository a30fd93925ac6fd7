"""What perf/compare is made of."""
