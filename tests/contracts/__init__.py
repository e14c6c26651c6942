"""The contracts of the services (prose and OpenAPI), and the machinery that holds every test to them.

``X.openapi.yaml`` is the machine-readable twin of ``X.md``; ``X.additions.openapi.yaml`` describes what the prose of
``X.md`` knows beyond it. Validation uses jsonschema and referencing: the documents are OpenAPI 3.1, whose schemas are
plain JSON Schema 2020-12, so those two (already there as dependencies of Jupyter) check all of it, and what remains,
paths and parameters, is little.
"""
