"""Conformance of a pipeline: put to faults and odd records, judged by what is stored and committed."""
