"""Every dashboard that is shipped: the flow of events, the state machines, dead letters, the fleet."""

from services.generate.dashboards.board import Board, panel, quantiles

SUBJECT = "messaging_destination_template"
TYPE = "cloudevents_event_type"

FLOW = Board(
    "alate-flow",
    "alate: event flow",
    (
        panel(
            "Said, by subject and type",
            "Messages that the bus took, a second.",
            "reqps",
            f"sum by ({SUBJECT}, {TYPE}) (rate(messaging_client_sent_messages_total[$__rate_interval]))",
            f"{{{{{SUBJECT}}}}} {{{{{TYPE}}}}}",
        ),
        panel(
            "Heard, by subject",
            "Messages that came to those who hear them, a second: each counts once for everybody who hears it.",
            "reqps",
            f"sum by ({SUBJECT}) (rate(messaging_client_consumed_messages_total[$__rate_interval]))",
            f"{{{{{SUBJECT}}}}}",
        ),
        quantiles(
            "End-to-end latency",
            "From when a message was stored until somebody had worked it off, with all that it led to said: one hop.",
            "alate_delivery_duration_seconds",
            SUBJECT,
        ),
        quantiles(
            "Publish lag",
            "From when a message was said until the bus had it.",
            "messaging_client_operation_duration_seconds",
            SUBJECT,
        ),
        quantiles(
            "Hearing lag",
            "From when a message was stored until it came to whoever hears it: grows where somebody is slow or away.",
            "alate_delivery_lag_seconds",
            SUBJECT,
        ),
        quantiles(
            "Work on a message",
            "From when a message came until it was worked off.",
            "messaging_process_duration_seconds",
            SUBJECT,
        ),
        panel(
            "Consumer lag",
            "Messages a consumer has still to be given. One that only grows belongs to a service that is away.",
            "short",
            "max by (stream, consumer) (alate_consumer_pending)",
            "{{consumer}}",
        ),
        panel(
            "Out, unanswered",
            "Messages that were given and are not answered yet, or wait to come again.",
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
            "What became of rules that held, a second.",
            "reqps",
            "sum by (outcome) (rate(alate_triggers_total[$__rate_interval]))",
            "{{outcome}}",
        ),
        panel(
            "Told to others",
            "What became of what targets were to be told, try by try, a second.",
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
            "A second, by what came after what.",
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
            "How long those stood in a state that have left it.",
            "alate_state_duration_seconds",
            "domain, state",
        ),
        panel(
            "Oldest per state",
            "How long the entity has stood in a state that stands there longest. `alate get colonies` shows which.",
            "s",
            "time() - max by (domain, state) (alate_state_oldest)",
            "{{domain}} {{state}}",
        ),
        panel(
            "Nothing to do",
            "Messages per second that changed nothing: repeats and late ones. Many do no harm.",
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
            "What could not be done since the services were started.",
            "short",
            "sum by (consumer) (alate_dead_letters_total)",
            "{{consumer}}",
        ),
        panel(
            "New, by consumer",
            "What could not be done, a second.",
            "reqps",
            "sum by (consumer) (rate(alate_dead_letters_total[$__rate_interval]))",
            "{{consumer}}",
        ),
        panel(
            "Given more than once",
            "Messages that are out for a second time or more: what will be a dead letter begins here.",
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
            "What is bought, of clusters that are ready, by model.",
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
            "USD, of all that is paid for now.",
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
