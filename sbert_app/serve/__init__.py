"""The routes under /v1, for clients that speak OpenAI's protocol."""
