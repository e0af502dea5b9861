"""What every process needs: settings, logs, health, telemetry, signals."""
