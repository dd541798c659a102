"""The common base of all pages for logged-in people: access check, navigation, and running a form's work."""
