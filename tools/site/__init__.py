"""The site: pages of rules and frameworks are made from docstrings, the model, fixtures that were run, and the ledger.

    python -m tools.site            write what the site is made of, and build it strictly
    python -m tools.site.executed   run the programs that rule pages show, and store what they did

What is written by hand stands in `docs/`.
"""
