"""The services of model_server, and their client."""
