"""Live rewards: Autotune scores items while a trainer waits, through the API or a reward endpoint."""
