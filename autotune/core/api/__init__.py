"""Shared code of all API endpoints: operations, parsing, pagination, problem responses and OpenAPI."""
