"""Health: regular health checks of graders, verification, and their history."""
