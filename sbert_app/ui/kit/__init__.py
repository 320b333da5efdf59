"""Shared by all tabs: html, figures, events, uploads, endpoints. Imports no tab."""
