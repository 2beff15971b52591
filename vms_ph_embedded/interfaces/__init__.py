"""Messages and services: definitions, Python classes, CDR bytes and DDS types."""
