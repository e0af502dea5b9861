"""Inside a founded cluster: a scheduler, kubelets and workload controllers that run a Job to its end."""
