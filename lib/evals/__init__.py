"""Evals of document extraction: data, graders, systems, reports and the gate before a release.

Import from its modules; nothing is re-exported here, so that importing one concept loads one.
"""
