"""A panel of quantiles asks for a histogram as Prometheus wants to be asked."""

from services.generate.dashboards.board import quantiles


def test_a_histogram_is_asked_for_its_median_and_its_tail_by_every_label():
    made = quantiles("t", "w", "alate_state_duration_seconds", "domain, state")
    rates = "sum by (le, domain, state) (rate(alate_state_duration_seconds_bucket[$__rate_interval]))"
    assert [(query.expr, query.legend) for query in made.queries if query.examples] == [
        (f"histogram_quantile(0.5, {rates})", "{{domain}} {{state}} p50"),
        (f"histogram_quantile(0.99, {rates})", "{{domain}} {{state}} p99"),
    ]
