"""The providers, one folder each; reached only through ``core.registry``."""
