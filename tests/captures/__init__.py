"""Captures and what is made of them: decoders, histories, metrics, verdicts again."""
