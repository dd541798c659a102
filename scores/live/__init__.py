"""Live rewards: scored while the trainer waits, by one call or by the endpoints that trainers know already."""
