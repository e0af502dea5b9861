"""A cluster's lifecycle in provisioning: the transition table and what each state asks for."""
