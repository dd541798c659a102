"""How Django's administration writes times: with 24 hours and their zone, as the pages do."""
