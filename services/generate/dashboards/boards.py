"""Every dashboard that is shipped: the flow of events, the state machines, dead letters, the fleet."""

from services.generate.dashboards.board import Board, panel, quantiles

SUBJECT = "messaging_destination_template"
TYPE = "cloudevents_event_type"

FLOW = Board(
    "alate-flow",
    "alate: event flow",
    (
        panel(
            "Published, by subject and type",
            "Messages a second that the bus stored.",
            "reqps",
            f"sum by ({SUBJECT}, {TYPE}) (rate(messaging_client_sent_messages_total[$__rate_interval]))",
            f"{{{{{SUBJECT}}}}} {{{{{TYPE}}}}}",
        ),
        panel(
            "Received, by subject",
            "Messages a second that consumers received: each counts once for every consumer.",
            "reqps",
            f"sum by ({SUBJECT}) (rate(messaging_client_consumed_messages_total[$__rate_interval]))",
            f"{{{{{SUBJECT}}}}}",
        ),
        quantiles(
            "End-to-end latency",
            "From when a message was stored until a consumer had handled it and published what follows: one hop.",
            "alate_delivery_duration_seconds",
            SUBJECT,
        ),
        quantiles(
            "Publish lag",
            "From when a message was published until the bus had stored it.",
            "messaging_client_operation_duration_seconds",
            SUBJECT,
        ),
        quantiles(
            "Delivery lag",
            "From when a message was stored until a consumer received it: grows where a service is slow or away.",
            "alate_delivery_lag_seconds",
            SUBJECT,
        ),
        quantiles(
            "Work on a message",
            "From when a message was received until it was handled.",
            "messaging_process_duration_seconds",
            SUBJECT,
        ),
        panel(
            "Consumer lag",
            "Messages that a consumer has not received yet. One that only grows belongs to a service that is away.",
            "short",
            "max by (stream, consumer) (alate_consumer_pending)",
            "{{consumer}}",
        ),
        panel(
            "Unacknowledged",
            "Messages that were delivered and are not acknowledged yet, or wait to be redelivered.",
            "short",
            "max by (stream, consumer) (alate_consumer_unanswered)",
            "{{consumer}}",
        ),
        panel(
            "Webhooks",
            "Deliveries that were answered, a second, by provider and status.",
            "reqps",
            "sum by (provider, status) (rate(alate_hooks_total[$__rate_interval]))",
            "{{provider}} {{status}}",
        ),
        panel(
            "Triggers",
            "Rules a second that matched, by outcome.",
            "reqps",
            "sum by (outcome) (rate(alate_triggers_total[$__rate_interval]))",
            "{{outcome}}",
        ),
        panel(
            "Sent to outbound targets",
            "Requests a second to outbound targets, by outcome.",
            "reqps",
            "sum by (target, outcome) (rate(alate_outbound_total[$__rate_interval]))",
            "{{target}} {{outcome}}",
        ),
    ),
)

STATES = Board(
    "alate-states",
    "alate: state machines",
    (
        panel(
            "Transitions",
            "Transitions a second, by the state before and after.",
            "reqps",
            "sum by (domain, was, state) (rate(alate_transitions_total[$__rate_interval]))",
            "{{domain}}: {{was}} → {{state}}",
        ),
        panel(
            "Entities by state",
            "Those that have not ended.",
            "short",
            "max by (domain, state) (alate_entities)",
            "{{domain}} {{state}}",
        ),
        quantiles(
            "Time in state",
            "How long entities were in a state that they have left.",
            "alate_state_duration_seconds",
            "domain, state",
        ),
        panel(
            "Oldest per state",
            "How long the entity that entered a state first has been in it. `alate get colonies` shows which it is.",
            "s",
            "time() - max by (domain, state) (alate_state_oldest)",
            "{{domain}} {{state}}",
        ),
        panel(
            "Nothing to do",
            "Messages a second that changed nothing: repeats and late ones. Many do no harm.",
            "reqps",
            "sum by (domain) (rate(alate_ignored_total[$__rate_interval]))",
            "{{domain}}",
        ),
    ),
)

DEAD = Board(
    "alate-dead-letters",
    "alate: dead letters",
    (
        panel(
            "Kept",
            "Dead letters that were neither redriven nor dropped: `alate events dlq ls` groups them by cause.",
            "short",
            "max(alate_dead_letters_kept)",
            "kept",
        ),
        panel(
            "By consumer",
            "Dead letters since the services were started.",
            "short",
            "sum by (consumer) (alate_dead_letters_total)",
            "{{consumer}}",
        ),
        panel(
            "New, by consumer",
            "New dead letters a second.",
            "reqps",
            "sum by (consumer) (rate(alate_dead_letters_total[$__rate_interval]))",
            "{{consumer}}",
        ),
        panel(
            "Redelivered",
            "Messages that were delivered more than once and are not acknowledged yet: dead letters begin here.",
            "short",
            "max by (stream, consumer) (alate_consumer_redelivered)",
            "{{consumer}}",
        ),
    ),
)

FLEET = Board(
    "alate-fleet",
    "alate: fleet and spend",
    (
        panel(
            "Clusters by state",
            "Those that have not ended.",
            "short",
            'max by (state) (alate_entities{domain="cluster"})',
            "{{state}}",
        ),
        panel(
            "Accelerators wanted",
            "What clusters that have not ended ask for, by model.",
            "short",
            "max by (accelerator) (alate_fleet_accelerators_wanted)",
            "{{accelerator}}",
        ),
        panel(
            "Accelerators ready",
            "What was bought for clusters that are ready, by model.",
            "short",
            "max by (accelerator) (alate_fleet_accelerators_ready)",
            "{{accelerator}}",
        ),
        panel(
            "Accelerators in use",
            "What pods hold, by model, as the inventory counts it.",
            "short",
            "sum by (model) (max by (cluster, model) (alate_inventory_allocated))",
            "{{model}}",
        ),
        panel(
            "Price per hour",
            "USD per hour of all that is paid for now.",
            "currencyUSD",
            "max by (cloud, spot) (alate_fleet_usd_per_hour)",
            "{{cloud}} spot={{spot}}",
        ),
        panel(
            "Spent in the last day, by cloud",
            "USD: the price of each quarter of a minute, added up.",
            "currencyUSD",
            "sum by (cloud) (sum_over_time(max by (cloud, spot) (alate_fleet_usd_per_hour)[1d:15s])) / 240",
            "{{cloud}}",
        ),
        panel(
            "Cost so far, by state",
            "USD of all clusters that are known, those that ended some days ago among them.",
            "currencyUSD",
            "max by (state) (alate_fleet_usd)",
            "{{state}}",
        ),
        panel(
            "Age of the prices",
            "How old each cloud's newest prices are.",
            "s",
            "time() - max by (cloud) (alate_catalog_as_of)",
            "{{cloud}}",
        ),
    ),
)

BOARDS = (FLOW, STATES, DEAD, FLEET)
