"""The engine: it claims workflow runs from the queue in the database, calls graders, and saves their answers."""
