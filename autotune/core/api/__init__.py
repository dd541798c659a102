"""What all endpoints share: operations, parsing, pages of lists, problem answers, OpenAPI."""
