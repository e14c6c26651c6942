"""The product: verbs, money safety, journal, watching. Knows no provider, no IPython, no web server."""
