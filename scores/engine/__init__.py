"""The engine: it takes workflow runs from the queue in the database, calls graders, and saves what they answer."""
