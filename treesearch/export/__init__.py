"""Take kernels out of an archive, as files that others can use without treesearch.

A format makes files of an `Exported` kernel (`formats.py`); what all share is here: the kernel is judged again first
(`verifying.py`), `lint.py` refuses what is known to break for others, and `manifest.json` says where it comes from.
"""
