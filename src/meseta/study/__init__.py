"""Studies as files: what is optimized, under which noise, and how a trial is evaluated.

Nothing here loads torch before a space or a law is built.
"""
