"""Members of organizations, and invitations."""
