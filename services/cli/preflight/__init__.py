"""`alate preflight`: what would keep alate from being installed or upgraded here, one sentence each."""
