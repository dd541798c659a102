"""Django commands that this app extends. They are a separate application, since it must precede Django's own."""
