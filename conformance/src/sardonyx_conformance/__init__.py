"""The conformance suite: `pytest --pyargs sardonyx_conformance --ep NAME`."""
