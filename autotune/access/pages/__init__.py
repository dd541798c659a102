"""The pages of an organization's settings: its name, members, roles and API keys."""
