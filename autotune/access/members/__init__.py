"""Members of an organization, and invitations."""
