"""What differs from Django's own formats for British English."""

TIME_FORMAT = "H:i e"
DATETIME_FORMAT = "j M Y, H:i e"
SHORT_DATETIME_FORMAT = "d/m/Y H:i e"
